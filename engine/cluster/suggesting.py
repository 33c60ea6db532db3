"""The nearest names where one is not known: those of all partitions, as a name might be any one's."""

from collections.abc import Sequence
from typing import Any

from dex.engine.cluster.merging import Execute
from dex.wcl.commands import Command, ShowFeeds, ShowStateStores
from dex.wcl.errors import Refused
from dex.wcl.names import did_you_mean

_LISTS: dict[str, Command[list[Any]]] = {"unknown_store": ShowStateStores(), "unknown_feed": ShowFeeds()}


def with_names_of_all(error: Refused, partitions: Sequence[Execute]) -> Refused:
    """Give an error of one partition with the names of all in its remedy, where it is about an unknown one."""
    listing = _LISTS.get(error.facts.get("reason", ""))
    if listing is None:
        return error
    names = [each.name for execute in partitions for each in execute(listing) if each.stage != "dropped"]
    return Refused(error.message, did_you_mean(error.facts["name"], names) or error.remedy, **error.facts)
