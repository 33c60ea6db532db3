"""Names of stores on a real cluster: whoever gives one, it is one store's (spec: K-03)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dex.engine.cluster.engine import ClusterEngine
from dex.engine.cluster.placing import partition_of
from dex.wcl.commands import Command, DefineFeed, DefineStateStore, FromFeed, ShowStateStores, StoreDefined
from dex.wcl.errors import Conflict, DexError
from tests.clusters import Cluster

Define = Callable[[ClusterEngine, str, str], StoreDefined | DexError]

_NAMES = [f"store-{number}" for number in range(8)]


def _define(node: ClusterEngine, name: str, feed: str) -> StoreDefined | DexError:
    try:
        return node.execute(DefineStateStore(name=name, source=FromFeed(feed)))
    except DexError as error:
        return error


def _define_by_many(node: ClusterEngine, name: str, feed: str) -> StoreDefined | DexError:
    define: Command[Any] = DefineStateStore(name=name, source=FromFeed(feed))
    first, second = node.execute_many([define, define])
    assert type(first) is type(second)
    return first  # type: ignore[no-any-return]  # as the command declares


@pytest.mark.spec("K-03", "F-02")
@pytest.mark.parametrize("define", [_define, _define_by_many])
def test_a_name_that_two_nodes_give_at_one_moment_is_one_stores(cluster: Cluster, define: Define) -> None:
    """The two would be in different partitions, each with its feed."""
    nodes = [cluster.join("a"), cluster.join("b")]
    feeds = _feeds_of_two_partitions(nodes[0])
    with ThreadPoolExecutor(2) as threads:
        for name in _NAMES:
            both = list(threads.map(define, nodes, [name] * 2, feeds))
            assert sorted(type(each).__name__ for each in both) == [Conflict.__name__, StoreDefined.__name__]
    assert [store.name for store in nodes[0].execute(ShowStateStores())] == _NAMES


def _feeds_of_two_partitions(node: ClusterEngine) -> list[str]:
    names = [f"feed-{number}" for number in range(20)]
    feeds = [next(name for name in names if partition_of(name, 2) == number) for number in range(2)]
    for feed in feeds:
        node.execute(DefineFeed(name=feed))
    return feeds
