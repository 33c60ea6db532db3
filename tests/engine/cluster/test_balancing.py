"""Which partition a node hands over to others that own fewer."""

import pytest

from dex.engine.cluster.balancing import Balance
from dex.engine.cluster.servers import JournalServers
from tests.clusters import new_cluster
from tests.engine.cluster.conftest import eventually


@pytest.mark.spec("K-05")
@pytest.mark.parametrize(
    ("owners", "takers", "givers"),
    [
        ("aaaa", "abc", {"a": 3}),
        ("aaab", "abc", {"a": 2}),
        ("abab", "abc", {"b": 3}),
        ("aabc", "abc", {}),
        ("aaaa", "a", {}),
        ("aaaa", "abcdefgh", {"a": 3}),
        ("aaa ", "ab", {}),
    ],
)
def test_one_node_hands_one_over_where_another_owns_two_fewer(owners: str, takers: str, givers: dict[str, int]) -> None:
    """Of several that own as many it is one, and none while a partition has no owner."""
    seen = [None if owner == " " else owner for owner in owners]
    found = {node: Balance(node, 0.0).surplus(seen, set(takers)) for node in takers}
    assert {node: number for node, number in found.items() if number is not None} == givers


@pytest.mark.spec("K-05")
def test_nothing_is_handed_over_before_it_has_been_quiet() -> None:
    """A node that has just come may be gone again."""
    assert Balance("a", 3600.0).surplus(["a", "a"], {"a", "b"}) is None


@pytest.mark.spec("K-05")
def test_what_nobody_took_is_not_handed_over_again_soon() -> None:
    """Each try waits for twice as long as the one before, the first here for a moment that has passed."""
    balance = Balance("a", 1e-9)
    tries = [balance.surplus(["a", "a"], {"a", "b"}) for _ in range(40)]
    assert 1 <= tries.count(1) < len(tries)


@pytest.mark.spec("K-05", "K-09")
def test_a_drained_node_tells_the_others_that_it_takes_none(journal_servers: JournalServers) -> None:
    """Nothing is handed over to it."""
    with new_cluster(journal_servers, ("a", "b"), settings={"lease_seconds": 2.0}) as cluster:
        node = cluster.nodes["a"]

        def takers() -> set[str]:
            found = node._link.insist(lambda: node.ownership._leases.under("node"), 30)
            return {holder.node for holder in found if holder.takes}

        assert takers() == {"a", "b"}
        cluster.nodes["b"].ownership.drain(30)
        eventually(lambda: takers() == {"a"})
