"""Attribute Store sync in a cluster: each partition by its owner, fenced by the lease (on a real PostgreSQL)."""

from collections.abc import Callable

import httpx
import pytest

from dex.engine.client import Client
from dex.engine.cluster.servers import JournalServers
from dex.engine.flows.registry import Registry
from dex.engine.sync.config import SyncConfig, SyncRetryPolicy
from dex.wcl.errors import InputError
from tests.clusters import Cluster, journal_servers, new_cluster
from tests.engine.sync.conftest import store_config
from tests.engine.sync.worker.flow import TOTAL, Order, synced_to
from tests.engine.sync.worker.running import until
from tests.postgres import Database, database, postgres

__all__ = ["database", "journal_servers", "postgres"]

FLOWS = [f"order-{number}" for number in range(6)]
TABLES = """
CREATE TABLE orders (id text PRIMARY KEY, "Total" bigint, "Note" text, "Secret" text);
CREATE TABLE items (id text, item text, value bigint, PRIMARY KEY (id, item));
"""


def registry() -> Registry:
    found = Registry()
    found.register(Order())
    return found


def config_of(dsn: str, lease_duration: float = 1.2) -> Callable[[], SyncConfig]:
    store = store_config(dsn, maps={"Items": ("items", "item")})
    retry = SyncRetryPolicy(initial_interval=0.02, maximum_interval=0.1)
    return lambda: SyncConfig(stores={"orders": store}, lease_duration=lease_duration, retry=retry)


def totals(database: Database) -> dict[str, int]:
    return dict(database.rows('SELECT id, "Total" FROM orders'))


def owned(cluster: Cluster, node: str) -> list[int]:
    engine = cluster.nodes[node]
    return [part.number for part in engine.partitions if engine.ownership.owns(part.number)]


@pytest.mark.spec("K-05", "Y-16")
def test_rows_follow_the_flows_whoever_owns_their_partition(
    journal_servers: JournalServers, database: Database
) -> None:
    """All that a node leaves behind is written by the next owner, under a token above those of the first."""
    database.execute(TABLES)
    options = {"registry": registry, "attribute_stores": ["orders"], "sync_config": config_of(database.dsn)}
    with new_cluster(journal_servers, ("a",), settings={"lease_seconds": 2.0}, **options) as cluster:
        first = Client(cluster.nodes["a"])
        until(lambda: len(owned(cluster, "a")) == 2)
        for number, flow_id in enumerate(FLOWS):
            first.start_flow(Order, flow_id, options=synced_to("orders").with_attribute(TOTAL, number))
        until(lambda: totals(database) == {flow_id: number for number, flow_id in enumerate(FLOWS)})
        tokens = dict(
            database.rows("SELECT (cluster_id, scope)::text, fencing_token FROM dexzd_attribute_sync_fencing")
        )
        cluster.join("b")
        for number, flow_id in enumerate(FLOWS):
            first.set_attributes(flow_id, {"Total": 100 + number})
        cluster.leave("a")
        until(lambda: len(owned(cluster, "b")) == 2)
        second = Client(cluster.nodes["b"])
        second.set_attributes(FLOWS[0], {"Total": 7})
        until(lambda: totals(database) == {FLOWS[0]: 7, **{f: 100 + n for n, f in enumerate(FLOWS) if n}})
        later = dict(database.rows("SELECT (cluster_id, scope)::text, fencing_token FROM dexzd_attribute_sync_fencing"))
        assert all(later[scope] >= token for scope, token in tokens.items())
        assert max(later.values()) > max(tokens.values())


@pytest.mark.spec("K-05", "Y-16")
def test_an_owner_whose_configuration_has_a_fault_just_then_writes_once_that_is_mended(
    journal_servers: JournalServers, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read whenever a partition is taken over, and somebody may be editing it."""
    monkeypatch.setattr("dex.engine.cluster.syncing._RETRY_SECONDS", 0.02)
    database.execute(TABLES)
    faults = [InputError("sync.yaml:1: half of it is missing", "write the rest")] * 5

    def config() -> SyncConfig:
        if faults:
            raise faults.pop()
        return config_of(database.dsn)()

    options = {"registry": registry, "attribute_stores": ["orders"], "sync_config": config}
    with new_cluster(journal_servers, ("a",), settings={"lease_seconds": 2.0}, **options) as cluster:
        client = Client(cluster.nodes["a"])
        for number, flow_id in enumerate(FLOWS):
            client.start_flow(Order, flow_id, options=synced_to("orders").with_attribute(TOTAL, number))
        until(lambda: totals(database) == {flow_id: number for number, flow_id in enumerate(FLOWS)})


@pytest.mark.spec("Y-17")
def test_writes_fit_the_lease_of_the_partition_whatever_lease_the_configuration_tells(
    journal_servers: JournalServers, database: Database
) -> None:
    """A lease of 60 s would leave a write 15 s and as much again, which the partition's never lasts."""
    database.execute(TABLES)
    config = config_of(database.dsn, lease_duration=60.0)
    options = {"registry": registry, "attribute_stores": ["orders"], "sync_config": config}
    with new_cluster(journal_servers, ("a",), settings={"lease_seconds": 2.0}, **options) as cluster:
        client = Client(cluster.nodes["a"])
        client.start_flow(Order, FLOWS[0], options=synced_to("orders").with_attribute(TOTAL, 7))
        until(lambda: totals(database) == {FLOWS[0]: 7})


@pytest.mark.spec("K-01", "K-05")
def test_a_node_tells_of_its_part_in_sync(journal_servers: JournalServers, database: Database) -> None:
    """It writes while it owns a partition."""
    database.execute(TABLES)
    options = {"registry": registry, "attribute_stores": ["orders"], "sync_config": config_of(database.dsn)}
    with new_cluster(journal_servers, ("a",), settings={"lease_seconds": 2.0}, **options) as cluster:
        until(lambda: len(owned(cluster, "a")) == 2)
        cluster.join("b")
        with httpx.Client(base_url=cluster.urls["a"], timeout=30, trust_env=False) as http:
            assert http.get("/readyz").json()["sync"] == "owner"
            assert "all written" in http.get("/").text
            told = http.get("/metrics").text
            assert 'dexzd_attribute_sync_write_failures_total{failure_kind="retryable"} 0.0' in told
            assert "dexzd_attribute_sync_fenced_writes_total 0.0" in told
            cluster.nodes["a"].hand_over()
            until(lambda: http.get("/readyz").json()["sync"] == "standby")
