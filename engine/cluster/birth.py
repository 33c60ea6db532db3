"""What the first node of a cluster makes on the journal servers, once: the cluster's id, and its streams (spec: K-03).

A journal stream that is missing later was lost with all that was acknowledged, so no node makes it anew.
"""

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from dex.engine.cluster import identity
from dex.engine.cluster.link import Link
from dex.engine.cluster.settings import ClusterSettings
from dex.engine.cluster.shared import Shared
from dex.engine.cluster.stream import Stream
from dex.wcl.errors import FailedPrecondition

_log = logging.getLogger("dex.cluster")
_SECONDS = 30.0
_MADE = "streams-made"


def join(
    link: Link, shared: Shared, streams: Sequence[Stream], settings: ClusterSettings, data_dir: Path
) -> identity.Identity:
    """Find the cluster that this node and its files belong to, or make it where they are new.

    Its streams count as made once all of them are there: whoever was killed before leaves that to the next node.

    Raises:
        FailedPrecondition: the files are another cluster's, or the journal servers have lost this one or a stream.
        Unavailable: the journal servers do not answer.
    """
    kept = identity.kept(data_dir)
    if kept is None:
        _check_new(link, shared, streams)
        link.insist(shared.make, _SECONDS)
        found = identity.decode(link.insist(partial(shared.once, "cluster", identity.proposed(settings)), _SECONDS))
    else:
        found = _known(link, shared, streams, settings, kept, data_dir)
    identity.check_settings(found, settings)
    identity.adopt(found, data_dir)
    is_made = link.insist(partial(shared.read, _MADE), _SECONDS).revision > 0
    for stream in streams:
        link.insist(partial(stream.join, found.cluster_id, is_made=is_made), _SECONDS)
    if not is_made:
        link.insist(partial(shared.write, _MADE, b"yes"), _SECONDS)
    return found


async def make_anew(shared: Shared, found: identity.Identity) -> bytes:
    """Make anew what was lost, and was so made once; give the cluster that is there now."""
    if await shared.make():
        _log.warning("the journal servers have lost %s: made anew", shared.name)
    data = await shared.once("cluster", identity.encode(found))
    await shared.write(_MADE, b"yes")
    return data


def _check_new(link: Link, shared: Shared, streams: Sequence[Stream]) -> None:
    """See that a node without files makes no other cluster on the streams of one whose settings were lost.

    Raises:
        FailedPrecondition: it would.
    """
    if link.insist(partial(shared.find, "cluster"), _SECONDS) is not None:
        return
    owners = _owners(link, streams)
    # The first nodes of a cluster may start at one moment: another one has made it meanwhile.
    if any(owners) and link.insist(partial(shared.find, "cluster"), _SECONDS) is None:
        raise FailedPrecondition(
            f"the journal servers at {link.where} have lost {shared.name}, and the journal of cluster"
            f" {next(filter(None, owners))} is there",
            "start a node that has its files first: it makes that anew",
        )


def _owners(link: Link, streams: Sequence[Stream]) -> list[str | None]:
    return [link.insist(stream.owner, _SECONDS) for stream in streams]


def _known(
    link: Link,
    shared: Shared,
    streams: Sequence[Stream],
    settings: ClusterSettings,
    kept: identity.Identity,
    data_dir: Path,
) -> identity.Identity:
    """Give the cluster of this name on the journal servers; where its settings alone were lost, make them anew.

    Raises:
        FailedPrecondition: there is none.
    """
    data = link.insist(partial(shared.find, "cluster"), _SECONDS)
    if data is None and set(_owners(link, streams)) == {kept.cluster_id}:
        data = link.insist(partial(make_anew, shared, kept), _SECONDS)
    if data is None:
        raise FailedPrecondition(
            f"the journal servers at {link.where} have no cluster {settings.name!r}, and {data_dir} belongs to cluster"
            f" {kept.cluster_id}",
            "name the journal servers and the cluster that it belongs to; if they have lost their files, restore those"
            " from a backup (README: Backup)",
        )
    return identity.decode(data)
