"""Names of stores on a real cluster: whoever gives one, it is one store's (spec: K-03)."""

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from zlib import crc32

import pytest

from dex.engine.cluster.engine import ClusterEngine
from dex.engine.cluster.placing import partition_of
from dex.wcl.commands import Command, DefineFeed, DefineStateStore, FromFeed, ShowStateStores, StoreDefined
from dex.wcl.errors import Conflict, DexError, Unavailable
from tests.clusters import Cluster
from tests.engine.cluster.conftest import eventually

Define = Callable[[ClusterEngine, str, str], StoreDefined | DexError]

_KEY = f"name.{crc32(b's'):08x}"
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


@pytest.mark.spec("K-03", "F-02")
def test_a_node_that_took_too_long_makes_no_store_of_a_name_that_others_may_give_by_then(cluster: Cluster) -> None:
    """What it waited for may have been there for longer than it holds a name."""
    node, other = cluster.join("a"), cluster.join("b")
    part, leases, renewals = node.partitions[0], node.ownership._leases, set[int]()
    part.writer.barrier(30)

    def is_renewed(times: int) -> bool:
        renewals.add(node._link.insist(lambda: leases.read(_KEY), 30).revision)
        return len(renewals) > times

    with ThreadPoolExecutor(1) as aside, closing(sqlite3.connect(part.engine.path, isolation_level=None)) as disk:
        disk.execute("BEGIN IMMEDIATE")
        defining = aside.submit(node.execute, DefineStateStore(name="s"))
        eventually(lambda: node._link.insist(lambda: leases.under("name"), 30))
        node._link.insist(lambda: leases.tell(_KEY, None, 1), 30)
        with other._naming.alone("s", 30):
            eventually(lambda: is_renewed(4))
            disk.execute("ROLLBACK")
            with pytest.raises(Unavailable, match="the name 's' was taken for too long; nothing was made"):
                defining.result()
    assert node.execute(ShowStateStores()) == []


def _feeds_of_two_partitions(node: ClusterEngine) -> list[str]:
    names = [f"feed-{number}" for number in range(20)]
    feeds = [next(name for name in names if partition_of(name, 2) == number) for number in range(2)]
    for feed in feeds:
        node.execute(DefineFeed(name=feed))
    return feeds
