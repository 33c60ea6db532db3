"""Answers that are put together from all partitions."""

from collections.abc import Callable, Sequence
from heapq import merge as merge_sorted
from operator import attrgetter
from typing import Any

import msgspec

from dex.wcl.commands import Command, ShowFeeds, ShowFreshness, ShowStateStores
from dex.wcl.commands.flowresults import FlowPage
from dex.wcl.commands.flows import SearchFlows, ShowFlowTypes
from dex.wcl.commands.overview import MOST_COUNTED, FlowCount, Overview, ShowOverview, SyncOverview
from dex.wcl.commands.sync import Backlog, ShowSyncTotals, SyncBacklog, SyncDrops, SyncTotals
from dex.wcl.errors import InvalidCommand

Execute = Callable[[Any], Any]
_DONE, _BEGIN = "-", ""


def _by_name(partitions: Sequence[Execute], command: Any) -> list[Any]:
    return sorted((item for execute in partitions for item in execute(command)), key=attrgetter("name"))


def _freshness(partitions: Sequence[Execute], command: ShowFreshness) -> Any:
    return max((execute(command) for execute in partitions), key=attrgetter("behind", "committed_seq"))


def _types(partitions: Sequence[Execute], command: ShowFlowTypes) -> list[Any]:
    return list(partitions[0](command))  # definitions are the node's


def _search(partitions: Sequence[Execute], command: SearchFlows) -> FlowPage:
    """Merge pages by the time of the start, the newest first; the token has one of each partition.

    Raises:
        InvalidCommand: the token is not one.
    """
    tokens = _tokens(command.page_token, len(partitions))
    pages = [
        None if token == _DONE else execute(_part(command, token))
        for execute, token in zip(partitions, tokens, strict=True)
    ]
    found = merge_sorted(
        *([(flow, number) for flow in page.flows] for number, page in enumerate(pages) if page is not None),
        key=lambda item: item[0].started_at,
        reverse=True,
    )
    taken = [item for item, _ in zip(found, range(command.limit), strict=False)]
    flows = [flow for flow, _ in taken]
    nexts = []
    for number, (page, token) in enumerate(zip(pages, tokens, strict=True)):
        count = sum(1 for _, owner in taken if owner == number)
        if page is None or (count == len(page.flows) and page.next_page_token is None):
            nexts.append(_DONE)
        elif count == len(page.flows):
            nexts.append(page.next_page_token)
        elif count == 0:
            nexts.append(token)
        else:
            part = partitions[number](_part(command, token, count))
            nexts.append(part.next_page_token or _DONE)
    return FlowPage(flows, None if set(nexts) == {_DONE} else ".".join(nexts))


def _part(command: SearchFlows, token: str, limit: int | None = None) -> SearchFlows:
    return msgspec.structs.replace(command, page_token=token or None, limit=limit or command.limit)


def _tokens(token: str | None, partitions: int) -> list[str]:
    if token is None:
        return [_BEGIN] * partitions
    parts = token.split(".")
    if len(parts) != partitions:
        raise InvalidCommand(f"{token!r} is not a page token", "pass the next_page_token of a page")
    return parts


def _backlog(partitions: Sequence[Execute], command: SyncBacklog) -> Backlog:
    found = [execute(command) for execute in partitions]
    entries = sorted((entry for each in found for entry in each.entries), key=attrgetter("age_seconds"), reverse=True)
    return Backlog(
        entries=entries[: command.limit],
        total=sum(each.total for each in found),
        oldest_age_seconds=max(each.oldest_age_seconds for each in found),
    )


def _drops(partitions: Sequence[Execute], command: SyncDrops) -> list[Any]:
    entries = [entry for execute in partitions for entry in execute(command)]
    return sorted(entries, key=attrgetter("dropped_at"), reverse=True)[: command.limit]


def _totals(partitions: Sequence[Execute], command: ShowSyncTotals) -> SyncTotals:
    found = [execute(command) for execute in partitions]
    return SyncTotals(
        position=max(each.position for each in found),
        pending=sum(each.pending for each in found),
        oldest_age_seconds=max(each.oldest_age_seconds for each in found),
        dropped=sum(each.dropped for each in found),
        rows=sum(each.rows for each in found),
    )


def _overview(partitions: Sequence[Execute], command: ShowOverview) -> Overview:
    found: list[Overview] = [execute(command) for execute in partitions]
    runs: dict[tuple[str, str], int] = {}
    sync: dict[str, SyncOverview] = {}
    for each in found:
        for count in each.flows:
            kind = count.type, count.status
            runs[kind] = min(MOST_COUNTED, runs.get(kind, 0) + count.runs)
        for entry in each.sync:
            sync[entry.store] = _added(sync[entry.store], entry) if entry.store in sync else entry
    types = sorted({type_ for type_, _ in runs})[: command.limit]
    return Overview(
        at=max(each.at for each in found),
        position=max(each.position for each in found),
        stores=sorted((store for each in found for store in each.stores), key=attrgetter("name"))[: command.limit],
        total_stores=sum(each.total_stores for each in found),
        feeds=sorted((feed for each in found for feed in each.feeds), key=attrgetter("name"))[: command.limit],
        total_feeds=sum(each.total_feeds for each in found),
        flows=[FlowCount(type=kind[0], status=kind[1], runs=runs[kind]) for kind in sorted(runs) if kind[0] in types],
        sync=[sync[name] for name in sorted(sync)[: command.limit]],
    )


def _added(one: SyncOverview, other: SyncOverview) -> SyncOverview:
    """Give what two partitions have for one Attribute Store."""
    oldest = max(one, other, key=attrgetter("oldest_age_seconds"))
    return SyncOverview(
        store=one.store,
        pending=min(MOST_COUNTED, one.pending + other.pending),
        oldest_age_seconds=oldest.oldest_age_seconds,
        oldest_flow_id=oldest.oldest_flow_id,
        ages=[a + b for a, b in zip(one.ages, other.ages, strict=True)],
        attempts=max(one.attempts, other.attempts),
    )


MERGED: dict[type[Command[Any]], Callable[[Sequence[Execute], Any], Any]] = {
    ShowStateStores: _by_name,
    ShowFeeds: _by_name,
    ShowFreshness: _freshness,
    ShowFlowTypes: _types,
    SearchFlows: _search,
    SyncBacklog: _backlog,
    SyncDrops: _drops,
    ShowSyncTotals: _totals,
    ShowOverview: _overview,
}
"""Commands that are no one partition's."""
