"""A journal server that the nodes reach, and that does not reach the others."""

import httpx
import pytest

from dex.engine.cluster.servers import SERVERS, JournalServer
from dex.wcl.commands import DefineStateStore, PutRow
from dex.wcl.errors import Unavailable
from tests.clusterprocesses import NodeOptions, process_cluster, wait_for
from tests.clusters import running_servers
from tests.netns import private_network, why_not


def is_connected_to(server: JournalServer, node: str) -> bool:
    answer = httpx.get(f"http://{server.place.address}:{server.monitor}/connz")
    return node in [each["name"] for each in answer.json()["connections"]]


@pytest.mark.spec("K-04", "K-05")
def test_a_node_whose_journal_server_is_cut_off_from_the_others_goes_on_by_another() -> None:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with (
        private_network([*SERVERS, "a"]) as network,
        running_servers([network.place(name) for name in SERVERS]) as all_,
    ):
        options = NodeOptions(places={"a": network.place("a")})
        with process_cluster(all_, ("a",), options) as cluster, cluster["a"].engine(timeout=5) as engine:
            engine.execute(DefineStateStore(name="s"))
            mine = next(server.name for server in all_.servers if is_connected_to(server, "a"))
            network.cut([mine], SERVERS)

            def puts() -> bool:
                try:
                    engine.execute(PutRow(store="s", key=b"k", mutation_id="m"))
                except Unavailable:
                    return False
                return True

            wait_for(puts, "a write", cluster["a"].log)
            cluster.wait_until_owned("a")
            assert not any(is_connected_to(server, "a") for server in all_.servers if server.name == mine)
