"""The state machine: one apply function for each mutation, the only writers of state."""

from collections.abc import Callable
from functools import cache
from typing import Any

from dex.engine import feeds, outcomes
from dex.engine.apply import Apply, Outcome
from dex.engine.journal import Nothing
from dex.engine.owner import OwnerChanged, change_owner
from dex.engine.stores import definitions, rows
from dex.wcl.commands import (
    AppendRecords,
    ClearStateStore,
    Command,
    DefineFeed,
    DefineStateStore,
    DeleteRow,
    DropFeed,
    DropStateStore,
    PutRow,
    RebuildStateStore,
)


def _nothing(_surroundings: Apply, _mutation: Nothing) -> Outcome:
    return Outcome(None)


_APPLY: dict[type[Command[Any]], Callable[[Apply, Any], Outcome]] = {
    PutRow: rows.put,
    DeleteRow: rows.delete,
    ClearStateStore: definitions.clear,
    AppendRecords: feeds.append,
    DefineStateStore: definitions.define,
    DropStateStore: definitions.drop,
    RebuildStateStore: definitions.rebuild,
    DefineFeed: feeds.define,
    DropFeed: feeds.drop,
}

MUTATIONS = frozenset(_APPLY)

_OF_CLUSTERS: dict[type[Any], Callable[[Apply, Any], Outcome]] = {Nothing: _nothing, OwnerChanged: change_owner}


def apply(surroundings: Apply, mutation: Any, record: bytes) -> Outcome:
    """Carry out one mutation; `record` is its journal form.

    Raises:
        DexError: the mutation does not fit the state; nothing was written.
    """
    kind = type(mutation)
    run = _APPLY.get(kind) or _OF_CLUSTERS.get(kind) or _of_flows()[kind]
    if getattr(mutation, "mutation_id", None) is None:
        return run(surroundings, mutation)
    return outcomes.once(surroundings, _scope(surroundings, mutation), mutation, record, run)


@cache
def _of_flows() -> dict[type[Any], Callable[[Apply, Any], Outcome]]:
    """Give the apply functions of Flow records; what only stores need starts faster without them."""
    from dex.engine.flows.state.table import APPLY

    return APPLY


def _scope(surroundings: Apply, mutation: Any) -> int:
    """Give the id of the store or feed that a mutation is sent to; mutation ids are distinct within it."""
    match mutation:
        case AppendRecords():
            return surroundings.catalog.feed(mutation.feed).id
        case ClearStateStore():
            return surroundings.catalog.store(mutation.name).id
        case _:
            return surroundings.catalog.store(mutation.store).id
