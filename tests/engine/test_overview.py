"""One look at everything: right, in order, and bounded."""

from collections.abc import Iterator

import pytest

from dex import StartFlowOptions
from dex.engine import overview
from dex.engine.client import Client
from dex.engine.local import LocalEngine
from dex.engine.protocol import Engine
from dex.engine.remote.endpoints import parse_endpoints
from dex.engine.remote.engine import RemoteEngine
from dex.wcl.commands import AppendRecords, DefineFeed, DefineStateStore, DropStateStore, FeedRecord, FromFeed, PutRow
from dex.wcl.commands.overview import ShowOverview
from tests.engine.fakes import FakeClock
from tests.engine.flows.runtime.conftest import Served
from tests.engine.flows.runtime.desk import Desk
from tests.engine.sync.worker.flow import Order, synced_to
from tests.serving import serving

pytestmark = pytest.mark.spec("K-01")


@pytest.fixture
def client(local: LocalEngine) -> Iterator[Client]:
    """A client over a socket, so that results take the way of JSON as well."""
    with serving(local) as url, Served(RemoteEngine(parse_endpoints(url)), local.flows.parts.registry) as served:
        yield served


def define(engine: Engine, *names: str, rows: int = 0) -> None:
    for name in names:
        engine.execute(DefineStateStore(name=name))
        for number in range(rows):
            engine.execute(PutRow(store=name, key=b"%d" % number, payload=b""))


def test_stores_have_rows_in_order_of_names(engine: Engine) -> None:
    define(engine, "b", rows=2)
    define(engine, "c", "a")
    engine.execute(DropStateStore(name="c"))
    found = engine.execute(ShowOverview())
    assert [(store.name, store.rows, store.behind) for store in found.stores] == [("a", 0, 0), ("b", 2, 0)]
    assert found.total_stores == 2


def test_a_store_that_is_being_made_of_a_feed_is_behind(still: LocalEngine) -> None:
    still.execute(DefineFeed(name="f"))
    still.execute(AppendRecords(feed="f", records=[FeedRecord(key=b"k", payload=b"{}")] * 3))
    still.execute(DefineStateStore(name="s", source=FromFeed("f")))
    (store,) = still.execute(ShowOverview()).stores
    assert (store.stage, store.rows, store.behind) == ("building", 0, 2)
    still.settle()
    found = still.execute(ShowOverview())
    assert (found.stores[0].stage, found.stores[0].rows, found.stores[0].behind) == ("active", 1, 0)
    assert [(feed.name, feed.last_seq, feed.stores) for feed in found.feeds] == [("f", 3, ["s"])]


def test_runs_are_counted_by_type_and_status(client: Client) -> None:
    for number in range(5):
        client.start_flow(Desk(), f"d{number}")
    client.start_flow(Order, "o")
    client.stop_flow("d0")
    flows = client.execute(ShowOverview()).flows
    counts = {(count.type, count.status): count.runs for count in flows}
    assert counts == {("Desk", "running"): 4, ("Desk", "canceled"): 1, ("Order", "running"): 1}
    assert [count.type for count in flows] == ["Desk", "Desk", "Order"]


def test_what_is_pending_is_counted_by_age(client: Client, clock: FakeClock) -> None:
    for flow_id, wait_ms in (("old", 59_500), ("young", 400)):
        client.start_flow(Order, flow_id, options=synced_to("orders"))
        client.set_attributes(flow_id, {"Total": 1, "Note": "n"} if flow_id == "young" else {"Total": 1})
        clock.advance(wait_ms)
    (found,) = client.execute(ShowOverview()).sync
    assert (found.store, found.pending, found.ages) == ("orders", 3, [2, 0, 1, 0, 0, 0])
    assert (found.oldest_flow_id, found.oldest_age_seconds, found.attempts) == ("old", 59.9, 0)


def test_no_more_is_listed_than_was_asked_for(client: Client) -> None:
    define(client.engine, "a", "b", "c")
    for name in ("f", "g"):
        client.execute(DefineFeed(name=name))
    client.start_flow(Desk(), "d")
    client.start_flow(Order, "o", options=StartFlowOptions())
    found = client.execute(ShowOverview(limit=1))
    assert [store.name for store in found.stores] == ["a"]
    assert [feed.name for feed in found.feeds] == ["f"]
    assert [count.type for count in found.flows] == ["Desk"]
    assert (found.total_stores, found.total_feeds) == (3, 2)


def test_counting_ends(local: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, no more are looked at."""
    define(local, "s", rows=5)
    client = Client(local)
    for number in range(5):
        client.start_flow(Order, f"o{number}", options=synced_to("orders"))
        client.set_attributes(f"o{number}", {"Total": 1})
    monkeypatch.setattr(overview, "MOST_COUNTED", 3)
    found = local.execute(ShowOverview())
    assert (found.stores[0].rows, found.flows[0].runs, found.sync[0].pending) == (3, 3, 3)


def test_no_run_is_read_to_count_runs(local: LocalEngine) -> None:
    """The index has all that it takes: a run may be large."""
    Client(local).start_flow(Desk(), "d")
    statements: list[str] = []
    with local._readers.snapshot() as snapshot:
        snapshot.connection.set_trace_callback(statements.append)
        overview.show_overview(snapshot, ShowOverview(), 0)
        snapshot.connection.set_trace_callback(None)
        (count,) = [statement for statement in statements if "type = 'Desk' AND status = 'running'" in statement]
        plans = [row[3] for row in snapshot.connection.execute(f"EXPLAIN QUERY PLAN {count}")]
    assert any("COVERING INDEX runs_type_status (type=? AND status=?)" in plan for plan in plans)
