"""Answers that are put together from all partitions."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from dex.wcl.commands import Command, ShowFeeds, ShowFreshness, ShowStateStores
from dex.wcl.commands.flowresults import FlowPage, FlowSummary
from dex.wcl.commands.flows import SearchFlows, ShowFlowTypes
from dex.wcl.commands.overview import MOST_COUNTED, FlowCount, Overview, ShowOverview, SyncOverview
from dex.wcl.commands.sync import Backlog, ShowSyncTotals, SyncBacklog, SyncDrops, SyncTotals
from dex.wcl.errors import FlowDefinitionError, InvalidCommand

Execute = Callable[[Any], Any]
_DONE, _BEGIN = "-", ""


def _by_name(partitions: Sequence[Execute], command: Any) -> list[Any]:
    return sorted((item for execute in partitions for item in execute(command)), key=attrgetter("name"))


def _freshness(partitions: Sequence[Execute], command: ShowFreshness) -> Any:
    return max((execute(command) for execute in partitions), key=attrgetter("behind", "committed_seq"))


def _types(partitions: Sequence[Execute], command: ShowFlowTypes) -> list[Any]:
    return list(partitions[0](command))  # definitions are the node's


class _Head(NamedTuple):
    """The next run of a partition: the token that it is read by, and the one of what follows."""

    flow: FlowSummary
    token: str
    next: str


def _search(partitions: Sequence[Execute], command: SearchFlows) -> FlowPage:
    """Merge runs by the time of the start, the newest first.

    They are read one by one, as each has to have a token of its own: a page ends anywhere, and runs are started
    meanwhile. The token of the page has one of each partition and the time of the last run: what is started later is on
    no page that follows.

    Raises:
        InvalidCommand: the token is not one.
        FlowDefinitionError: no partition knows of the type, or of an Attribute.
    """
    tokens, until = _tokens(command.page_token, len(partitions))
    heads = _heads(partitions, command, tokens, until)
    flows: list[FlowSummary] = []
    while heads and len(flows) < command.limit:
        number = max(heads, key=lambda number: heads[number].flow.started_at)
        head = heads.pop(number)
        flows.append(head.flow)
        following = _head(partitions[number], command, head.next, until)
        if following is not None:
            heads[number] = following
    if not heads:
        return FlowPage(flows, None)
    nexts = [heads[number].token if number in heads else _DONE for number in range(len(partitions))]
    return FlowPage(flows, f"{'.'.join(nexts)}@{flows[-1].started_at}")


def _heads(partitions: Sequence[Execute], command: SearchFlows, tokens: Sequence[str], until: str) -> dict[int, _Head]:
    """Give the next run of each partition that has one.

    Raises:
        FlowDefinitionError: none knows of what is searched for; a type may have runs in one partition only.
    """
    heads: dict[int, _Head] = {}
    refused: list[FlowDefinitionError] = []
    for number, (execute, token) in enumerate(zip(partitions, tokens, strict=True)):
        try:
            head = _head(execute, command, token, until)
        except FlowDefinitionError as error:
            refused.append(error)
            continue
        if head is not None:
            heads[number] = head
    if len(refused) == len(partitions):
        raise refused[0]
    return heads


def _head(execute: Execute, command: SearchFlows, token: str, until: str) -> _Head | None:
    """Give the next run that was not started after `until`."""
    while token != _DONE:
        page: FlowPage = execute(msgspec.structs.replace(command, page_token=token or None, limit=1))
        following = page.next_page_token or _DONE
        if page.flows and not (until and page.flows[0].started_at > until):
            return _Head(page.flows[0], token, following)
        token = following
    return None


def _tokens(token: str | None, partitions: int) -> tuple[list[str], str]:
    """Give the token of each partition, and the time of the last run that was told of.

    Raises:
        InvalidCommand: it is not a token.
    """
    if token is None:
        return [_BEGIN] * partitions, ""
    parts, _, until = token.partition("@")
    tokens = parts.split(".")
    if len(tokens) != partitions or not until:
        raise InvalidCommand(f"{token!r} is not a page token", "pass the next_page_token of a page", page_token=token)
    return tokens, until


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
