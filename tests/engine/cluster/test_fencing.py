"""An owner that was deposed while it worked: what it commits late is refused by the journal itself."""

import pytest

from dex.engine.client import Client
from dex.engine.cluster.placing import partition_of
from dex.engine.cluster.servers import JournalServers
from dex.engine.flows.builtin import default_registry
from dex.samples.chunked_subscribers import FLOW_ID, ChunkedSubscribers
from dex.wcl.commands.flows import GetAttributes, InvokeRpc
from dex.wcl.errors import Unavailable
from tests.clusterprocesses import wait_for
from tests.clusters import catch_up, new_cluster

_PARTITION = partition_of(FLOW_ID, 2)
_REGISTER = InvokeRpc(
    flow_id=FLOW_ID, rpc="RegisterSubscriber", input={"subscriber_id": "late", "delivery_address": "there"}
)


@pytest.mark.spec("K-05")
def test_what_a_deposed_owner_commits_is_refused_on_every_node(journal_servers: JournalServers) -> None:
    """Its own clock would have held it back; here it has looked at it just before it was stopped in its tracks."""
    with new_cluster(journal_servers, ("a",), registry=default_registry) as cluster:
        first = cluster.nodes["a"]
        wait_for(lambda: first.ownership.owns(_PARTITION), "the first owner")
        ChunkedSubscribers(Client(first)).run.start()
        part = first.partitions[_PARTITION]
        deposed = part.writer.epoch()
        second = cluster.join("b")
        first.ownership.drain(30)
        wait_for(lambda: second.ownership.owns(_PARTITION), "the second owner")
        assert second.ownership.epoch(_PARTITION) > deposed
        with pytest.raises(Unavailable) as told:
            part.execute(_REGISTER)
        assert told.value.reason == "not_owner"
        part.writer.epoch = lambda: deposed
        with pytest.raises(Unavailable) as told:
            part.execute(_REGISTER)
        assert told.value.reason == "deposed"
        registered = ChunkedSubscribers(Client(second)).register("in time", "here")
        assert registered.sequence == 1
        catch_up([first, second], first)
        values = [node.partitions[_PARTITION].execute(GetAttributes(flow_id=FLOW_ID)) for node in (first, second)]
        assert values[0] == values[1]
        assert "late" not in repr(values)
