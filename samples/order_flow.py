"""A template for Flows of your own: Steps, a Channel, a Timer and a lock.

    export DEX_FLOWS=samples/order_flow.py
    dex flow start OrderFlow order-1 --input '{"orderId": "o1", "cents": 900}'
    dex flow publish order-1 Payments 400 500
    dex flow wait order-1

A handler may be run again after a crash, so what it does outside of the Flow must bear repeating. What it does
inside, to Attributes and Channels and by its decision, commits together or not at all.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

from dex import (
    Attribute,
    AttributeIndex,
    Channel,
    Context,
    Flow,
    IndexType,
    PersistenceSchema,
    Refused,
    RetryPolicy,
    RPCResult,
    Step,
    StepDecision,
    StepList,
    StepMovement,
    StepOptions,
    Timer,
    Wait,
    dead_end,
    force_complete,
    force_fail,
    go_to,
    graceful_complete,
    rpc,
)

PATIENCE = timedelta(days=2)

# Durable values and messages of each run. An Attribute can be searched for: `dex flow search --attr Status=open`.
STATUS = Attribute("Status", str, index=AttributeIndex(IndexType.KEYWORD))
PAYMENTS = Channel("Payments", int)


@dataclass
class Order:
    """What the Flow is started with; on the command line {"orderId": "o1", "cents": 900}."""

    order_id: str
    cents: int


def status_of(context: Context) -> str:
    """Give the status, `new` before the first Step has set it."""
    try:
        return STATUS.get(context)
    except KeyError:
        return "new"


class AwaitPayment(Step[Order]):
    """Waits for payments, but not for ever."""

    def wait_for(self, context: Context, order: Order) -> Wait:
        """Execute at the first payment or when the Timer fires, whichever comes first."""
        if status_of(context) == "new":
            STATUS.set(context, "open")
        return Wait.any_of(PAYMENTS.for_one("paid"), Timer.by_duration(PATIENCE, "too-late"))

    def execute(self, context: Context, order: Order) -> StepDecision:
        """Ship what is paid in full, else wait for the rest."""
        if context.has_timer_fired(0):
            return force_fail(f"order {order.order_id} was not paid in time")
        missing = order.cents - sum(PAYMENTS.results(context))
        if missing > 0:
            return go_to(AwaitPayment, replace(order, cents=missing))
        return go_to(Ship, order.order_id)

    def get_step_options(self) -> StepOptions:
        """Hold the lock while the status is set; without it a cancellation just then would be overwritten."""
        return StepOptions(wait_for_lock_attributes=(STATUS,))


class Ship(Step[str]):
    """Hands the order over, if nobody has cancelled it meanwhile."""

    def execute(self, context: Context, order_id: str) -> StepDecision:
        """Do the work of the Flow and end it with an output."""
        if status_of(context) == "cancelled":
            return dead_end()
        STATUS.set(context, "shipped")
        context.record_event("shipped", {"orderId": order_id})
        return graceful_complete(order_id)

    def get_step_options(self) -> StepOptions:
        """Hold the lock that `cancel` takes too, so that only one of the two happens; give up after three tries."""
        return StepOptions(
            execute_lock_attributes=(STATUS,),
            execute_retry=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_attempts=3),
        )


class Cancel(Step[str]):
    """Ends the Flow, whatever its other Steps wait for."""

    def execute(self, context: Context, reason: str) -> StepDecision:
        """Complete with what became of the order."""
        return force_complete(f"cancelled: {reason}")


class OrderFlow(Flow[Order]):
    """One order, from payment to shipping."""

    def get_persistence_schema(self) -> PersistenceSchema:
        """Declare all that the Flow uses; another name is an error."""
        return PersistenceSchema.of(STATUS, PAYMENTS)

    def get_steps(self) -> StepList:
        """Start by waiting for the payment."""
        return StepList.start_step(AwaitPayment).other_steps(Ship, Cancel)

    @rpc(lock_attributes=(STATUS,))
    def cancel(self, context: Context, reason: str) -> RPCResult[None]:
        """Cancel the order: `dex flow invoke order-1 cancel --input '"changed my mind"'`."""
        if status_of(context) == "shipped":
            raise Refused("the order is shipped already", "send it back")
        STATUS.set(context, "cancelled")
        return RPCResult(next_steps=(StepMovement.of(Cancel, reason),))
