"""Flows over HTTP: looking at them, watching them and waiting for them."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from dex import Attribute, Context, Flow, PersistenceSchema, RPCResult, rpc
from dex.engine.client import Client
from dex.samples.order_flow import PAYMENTS, STATUS, Order, OrderFlow
from tests.engine.server.conftest import Server

pytestmark = pytest.mark.spec("K-01")

ORDER = "order/1"
URL = "/v1/flows/order%2F1"


class ShelfFlow(Flow[None]):
    def get_persistence_schema(self) -> PersistenceSchema:
        return PersistenceSchema.of(Attribute("Colour", str), Attribute("Size", int))

    @rpc()
    def fail(self, context: Context, input: None) -> RPCResult[None]:
        raise RuntimeError("no luck")


@pytest.fixture
def client(server: Server) -> Client:
    """A client of the engine behind the server, with an order that waits for its payment."""
    client = Client(server.engine)
    client.start_flow(OrderFlow, ORDER, Order("o1", 900))
    client.wait_for_attribute_equal(STATUS, ORDER, "open")
    return client


@pytest.fixture
def pay(client: Client) -> Callable[[], list[str]]:
    return lambda: client.publish(PAYMENTS, ORDER, 900)


def test_runs_are_found_by_type_status_and_attributes(http: httpx.Client, client: Client) -> None:
    def found(**params: Any) -> list[str]:
        return [run["flow_id"] for run in http.get("/v1/flows", params=params).raise_for_status().json()["flows"]]

    client.start_flow(OrderFlow, "order-2", Order("o2", 1))
    client.set_attributes("order-2", {"Status": "3"})
    assert found() == ["order-2", ORDER]
    assert found(type="OrderFlow", status="running", limit=1) == ["order-2"]
    assert found(attr="Status=open") == [ORDER]
    assert found(attr='Status:="3"') == ["order-2"]
    assert found(attr="Status:=3") == []
    assert found(status="failed") == []


def test_the_next_page_follows_the_token(http: httpx.Client, client: Client) -> None:
    client.start_flow(OrderFlow, "order-2", Order("o2", 1))
    first = http.get("/v1/flows", params={"limit": 1}).json()
    second = http.get("/v1/flows", params={"limit": 1, "page_token": first["next_page_token"]}).json()
    assert [second["flows"][0]["flow_id"], second["next_page_token"]] == [ORDER, None]


def test_several_attributes_must_all_hold(http: httpx.Client, server: Server) -> None:
    client = Client(server.engine)
    for flow_id, colour, size in (("a", "red", 1), ("b", "red", 2), ("c", "blue", 2)):
        client.start_flow(ShelfFlow, flow_id)
        client.set_attributes(flow_id, {"Colour": colour, "Size": size})
    found = http.get("/v1/flows?attr=Colour=red&attr=Size:=2").json()["flows"]
    assert [run["flow_id"] for run in found] == ["b"]


def test_types_are_listed_and_a_flow_of_that_name_can_be_asked_for(http: httpx.Client, client: Client) -> None:
    assert [known["type"] for known in http.get("/v1/flows/types").json()] == ["OrderFlow"]
    client.start_flow(OrderFlow, "types", Order("o2", 1))
    assert http.get("/v1/flows/%74ypes").json()["flow_id"] == "types"


def test_a_run_is_described_with_state_attributes_and_messages(http: httpx.Client, client: Client) -> None:
    assert http.get(URL).json()["input"] == {"orderId": "o1", "cents": 900}
    assert [step["type"] for step in http.get(f"{URL}/state").json()["steps"]] == ["AwaitPayment"]
    assert http.get(f"{URL}/attributes").json() == {"attributes": {"Status": "open"}}
    assert http.get(f"{URL}/attributes?name=Status").json() == {"attributes": {"Status": "open"}}
    assert http.get(f"{URL}/attributes?name=Statu").status_code == 400
    assert http.get(f"{URL}/channels/Payments").json() == {"messages": []}


def test_history_is_read_in_pages(http: httpx.Client, client: Client) -> None:
    first = http.get(f"{URL}/history", params={"limit": 1}).json()
    assert [event["kind"] for event in first["events"]] == ["started"]
    assert [event["number"] for event in http.get(f"{URL}/history", params={"after": 1}).json()["events"]] == [2]


def test_a_watch_gives_each_event_until_the_run_is_closed(server: Server, pay: Callable[[], list[str]]) -> None:
    with httpx.stream("GET", f"{server.url}{URL}/watch", timeout=30) as response:
        lines = response.iter_lines()
        assert json.loads(next(lines))["kind"] == "started"
        pay()
        rest = [json.loads(line) for line in lines]
    assert [event["number"] for event in rest] == list(range(2, len(rest) + 2))
    assert http_status(server) == "completed"


def http_status(server: Server) -> Any:
    return httpx.get(f"{server.url}{URL}").json()["status"]


def test_a_watch_of_a_closed_run_gives_what_was_and_ends(
    http: httpx.Client, client: Client, pay: Callable[[], list[str]]
) -> None:
    pay()
    client.wait_for_flow(ORDER)
    numbers = [json.loads(line)["number"] for line in http.get(f"{URL}/watch?after=1").iter_lines()]
    assert numbers == list(range(2, http.get(URL).json()["history_events"] + 1))


def test_a_wait_gives_how_the_run_ended(http: httpx.Client, client: Client, pay: Callable[[], list[str]]) -> None:
    early = http.get(f"{URL}/wait?wait_ms=1")
    assert (early.status_code, early.json()["error"]["type"]) == (503, "LongPollTimeoutError")
    pay()
    ended = http.get(f"{URL}/wait?wait_ms=30000").json()
    assert (ended["status"], ended["output"]) == ("completed", "o1")


@pytest.mark.parametrize(
    "path", ["", "/state", "/history", "/attributes", "/channels/c", "/watch", "/wait"], ids=lambda path: path or "/"
)
def test_a_flow_that_is_not_there_is_404(http: httpx.Client, path: str) -> None:
    response = http.get(f"/v1/flows/none{path}")
    assert (response.status_code, response.json()["error"]["type"]) == (404, "FlowNotFoundError")


def test_a_handler_that_fails_is_no_failure_of_the_server(http: httpx.Client, server: Server) -> None:
    Client(server.engine).start_flow(ShelfFlow, "broken")
    response = http.post("/v1/commands", json={"command": "invoke_rpc", "flow_id": "broken", "rpc": "fail"})
    error = response.json()["error"]
    assert (response.status_code, error["kind"], error["type"]) == (400, "failed", "WorkerInvocationError")
    assert "no luck" in error["message"]
