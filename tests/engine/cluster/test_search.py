"""Flows, and what is pending of them, are found whichever partition they are in."""

import pytest

from dex.engine.client import Client
from dex.engine.cluster.placing import partition_of
from dex.engine.cluster.servers import JournalServers
from dex.engine.flows.registry import Registry
from dex.wcl.commands.sync import SyncBacklog
from dex.wcl.errors import FlowDefinitionError
from tests.clusters import new_cluster
from tests.engine.cluster.conftest import store_on
from tests.engine.flows.runtime.conftest import Served
from tests.engine.flows.runtime.desk import Desk
from tests.engine.sync.worker.flow import TOTAL, Order, synced_to


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


@pytest.mark.spec("Y-05", "K-03")
def test_the_backlog_of_an_attribute_store_is_that_of_all_partitions_though_a_store_has_its_name(
    journal_servers: JournalServers,
) -> None:
    registry, flow_ids = Registry(), ["order-1", "order-5"]
    with new_cluster(journal_servers, ("a",), registry=lambda: registry, attribute_stores=["orders"]) as cluster:
        node = cluster.nodes["a"]
        store_on(node, "orders").put(b"k", b"")
        client = Served(node, registry)
        for flow_id in flow_ids:
            client.start_flow(Order(), flow_id, options=synced_to("orders").with_attribute(TOTAL, 1))
        assert {partition_of(flow_id, 2) for flow_id in flow_ids} == {0, 1}
        assert sorted(entry.flow_id for entry in client.execute(SyncBacklog(store="orders")).entries) == flow_ids
