"""Attribute Store sync from a program: the SDK's client knows the stores of a configuration."""

from pathlib import Path

import pytest

from dex import FlowConfig, StartFlowOptions, connect
from dex.engine.sync.configfile import load_config
from dex.engine.sync.service import Sync
from dex.samples.synced_orders import SyncedOrderFlow
from dex.wcl.errors import InputError, Refused
from tests.postgres import Database

SAMPLES = Path(__file__).parents[3] / "samples"
OPTIONS = StartFlowOptions(config_override=FlowConfig(attribute_store_names=["orders"]))


@pytest.mark.spec("Y-04", "Y-05")
def test_a_program_starts_flows_that_sync(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is all that it names; without one the error says where to name it."""
    database.execute("DROP TABLE dexzd_attribute_sync_fencing")
    database.execute((SAMPLES / "sync.sql").read_text())
    monkeypatch.setenv("DEX_ZD_ATTRIBUTE_STORE_DSN_ORDERS", database.dsn)
    with (
        connect(tmp_path) as stranger,
        pytest.raises(Refused, match=r"no Attribute Store 'orders'.* sync_config of dex\.connect"),
    ):
        stranger.start_flow(SyncedOrderFlow, "order-1", options=OPTIONS)
    with connect(tmp_path, sync_config=SAMPLES / "sync.yaml") as client:
        options = OPTIONS.with_attribute(SyncedOrderFlow.customer_name, "Ann")
        client.start_flow(SyncedOrderFlow, "order-1", options=options)
        sync = Sync(client.engine.flows.parts, load_config(SAMPLES / "sync.yaml"))
        sync.open()
        sync.flush(10)
        sync.close()
    assert database.rows("SELECT order_id, customer_name FROM orders") == [("1", "Ann")]


@pytest.mark.spec("Y-04")
def test_a_configuration_that_is_none_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sync_config is a file, not list"):
        connect(tmp_path, sync_config=["orders"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a server has its own sync_config"):
        connect("http://127.0.0.1:1", sync_config="sync.yaml")
