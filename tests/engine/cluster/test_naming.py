"""Names of stores on a real cluster: whoever gives one, it is one store's (spec: K-03)."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from dex.engine.cluster.engine import ClusterEngine
from dex.engine.cluster.placing import partition_of
from dex.wcl.commands import DefineFeed, DefineStateStore, FromFeed, ShowStateStores, StoreDefined
from dex.wcl.errors import Conflict, DexError
from tests.clusters import Cluster

_NAMES = [f"store-{number}" for number in range(8)]


@pytest.mark.spec("K-03", "F-02")
def test_a_name_that_two_nodes_give_at_one_moment_is_one_stores(cluster: Cluster) -> None:
    """The two would be in different partitions, each with its feed."""
    nodes = [cluster.join("a"), cluster.join("b")]
    feeds = _feeds_of_two_partitions(nodes[0])
    with ThreadPoolExecutor(2) as threads:
        for name in _NAMES:
            both = list(threads.map(_define, nodes, [name] * 2, feeds))
            assert sorted(type(each).__name__ for each in both) == [Conflict.__name__, StoreDefined.__name__]
    assert [store.name for store in nodes[0].execute(ShowStateStores())] == _NAMES


@pytest.mark.spec("K-03", "F-02")
def test_a_name_that_another_node_has_just_given_is_known(cluster: Cluster) -> None:
    a, b = cluster.join("a"), cluster.join("b")
    feeds = _feeds_of_two_partitions(a)
    for name in _NAMES:
        a.execute(DefineStateStore(name=name, source=FromFeed(feeds[0])))
        (answer,) = b.execute_many([DefineStateStore(name=name, source=FromFeed(feeds[1]))])
        assert isinstance(answer, Conflict)


def _define(node: ClusterEngine, name: str, feed: str) -> StoreDefined | DexError:
    try:
        return node.execute(DefineStateStore(name=name, source=FromFeed(feed)))
    except DexError as error:
        return error


def _feeds_of_two_partitions(node: ClusterEngine) -> list[str]:
    names = [f"feed-{number}" for number in range(20)]
    feeds = [next(name for name in names if partition_of(name, 2) == number) for number in range(2)]
    for feed in feeds:
        node.execute(DefineFeed(name=feed))
    return feeds
