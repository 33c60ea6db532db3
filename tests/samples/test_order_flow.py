"""The template: it does what its comments say."""

from datetime import timedelta
from pathlib import Path

import pytest

from dex import Client, FlowNotActiveOrNotFoundError, Refused, RPCLockConflict
from dex.samples.order_flow import PAYMENTS, STATUS, Order, OrderFlow
from tests.chaos.children import Child

FLOW = OrderFlow()
_SHIP_SLOWLY = """
import sys
from datetime import timedelta
from dex import connect
from dex.samples.order_flow import PAYMENTS, Order, OrderFlow, Ship

ship = Ship.execute

def slowly(self, context, order_id: str):
    print("shipping")
    sys.stdin.readline()
    return ship(self, context, order_id)

Ship.execute = slowly
with connect(sys.argv[1]) as client:
    client.start_flow(OrderFlow(), "o", Order("o", 900))
    client.publish(PAYMENTS, "o", 900)
    client.wait_for_flow("o", timedelta(seconds=60))
"""


@pytest.fixture
def order(client: Client) -> str:
    """An order of 900 cents that waits for its payment."""
    client.start_flow(FLOW, "o", Order("o", 900))
    client.wait_for_attribute_equal(STATUS, "o", "open", timedelta(seconds=20))
    return "o"


@pytest.mark.spec("FL-08", "FL-09")
def test_payments_that_are_enough_ship_the_order(client: Client, order: str) -> None:
    client.publish(PAYMENTS, order, 400)
    client.publish(PAYMENTS, order, 500)
    result = client.wait_for_flow(order, timedelta(seconds=20))
    assert (result.status, result.output) == ("completed", order)
    assert client.get_attribute(STATUS, order) == "shipped"


@pytest.mark.spec("FL-08")
def test_an_order_that_nobody_pays_fails(client: Client, order: str) -> None:
    client.skip_timer(order, "AwaitPayment-1", "too-late")
    result = client.wait_for_flow(order, timedelta(seconds=20))
    assert (result.status, result.error) == ("failed", f"order {order} was not paid in time")


@pytest.mark.spec("FL-05", "FL-08")
def test_an_order_is_cancelled_only_before_it_is_shipped(client: Client, order: str) -> None:
    client.invoke_rpc(FLOW.cancel, order, "changed my mind")
    result = client.wait_for_flow(order, timedelta(seconds=20))
    assert (result.status, result.output) == ("completed", "cancelled: changed my mind")
    with pytest.raises(FlowNotActiveOrNotFoundError):
        client.invoke_rpc(FLOW.cancel, order, "again")
    client.start_flow(FLOW, "p", Order("p", 1))
    client.wait_for_attribute_equal(STATUS, "p", "open", timedelta(seconds=20))
    client.set_attribute(STATUS, "p", "shipped")
    with pytest.raises(Refused, match="shipped already"):
        client.invoke_rpc(FLOW.cancel, "p", "too late")


@pytest.mark.spec("FL-07", "FL-08")
def test_an_order_that_another_process_is_shipping_is_not_cancelled(client: Client, data_dir: Path) -> None:
    with Child(_SHIP_SLOWLY, data_dir) as other:
        assert other.hear() == "shipping"
        with pytest.raises(RPCLockConflict):
            client.invoke_rpc(FLOW.cancel, "o", "changed my mind")
        other.say("go on")
        assert other.end() == []
    assert client.describe_flow("o").status == "completed"
    assert client.get_attribute(STATUS, "o") == "shipped"
