"""Flows are found whichever partition they are in."""

import pytest

from dex.engine.client import Client
from dex.engine.cluster.servers import JournalServers
from dex.engine.flows.registry import Registry
from dex.wcl.errors import FlowDefinitionError
from tests.clusters import new_cluster
from tests.engine.flows.runtime.desk import Desk


@pytest.mark.spec("FL-12", "K-03")
def test_runs_of_a_type_that_no_node_knows_any_more_are_found_where_one_partition_has_them(
    journal_servers: JournalServers,
) -> None:
    """The other partition alone would say that there is no such type."""
    registry = Registry()
    registry.register(Desk())
    with new_cluster(journal_servers, ("a",), registry=lambda: registry) as cluster:
        client = Client(cluster.nodes["a"])
        client.start_flow(Desk(), "d")
        del registry.types["Desk"]
        assert [flow.flow_id for flow in client.search_flows({"type": "Desk"}).flows] == ["d"]
        with pytest.raises(FlowDefinitionError, match="there is no Flow type Desc"):
            client.search_flows({"type": "Desc"})
