"""A Flow with Steps, a Channel, a Timer and a lock, written as for the public SDK."""

from dataclasses import dataclass
from datetime import timedelta

from dex import (
    Attribute,
    Channel,
    Context,
    Flow,
    PersistenceSchema,
    RetryPolicy,
    RPCResult,
    Step,
    StepDecision,
    StepList,
    StepMovement,
    StepOptions,
    Timer,
    Wait,
    force_fail,
    go_to,
    graceful_complete,
    rpc,
)


@dataclass
class Order:
    order_id: str
    cents: int


PAID = Channel("Paid", int)
STATE = Attribute("State", str)


class AwaitPayment(Step[Order]):
    def wait_for(self, context: Context, input: Order) -> Wait:
        context.set_step_execution_local("asked", input.cents)
        return Wait.any_of(PAID.for_one("paid"), Timer.by_duration(timedelta(hours=1), "late"))

    def execute(self, context: Context, input: Order) -> StepDecision:
        if context.has_timer_fired(0):
            return force_fail("not paid in time")
        STATE.set(context, "paid")
        return go_to(Ship, input.order_id)

    def get_step_options(self) -> StepOptions:
        return StepOptions(
            execute_method_timeout=timedelta(seconds=5),
            execute_retry=RetryPolicy(maximum_attempts=3),
            execute_lock_attributes=(STATE.lock(),),
            execute_load_channels=(PAID,),
        ).on_execute_failure_proceed_to(Refund)


class Ship(Step[str]):
    async def execute(self, context: Context, input: str) -> StepDecision:
        context.record_event("shipped", {"order": input})
        return graceful_complete(input)


class Refund(Step[Order]):
    def execute(self, context: Context, input: Order) -> StepDecision:
        return force_fail(context.recovery_error)


class OrderFlow(Flow[Order]):
    def get_persistence_schema(self) -> PersistenceSchema:
        return PersistenceSchema.of(PAID, STATE)

    def get_steps(self) -> StepList:
        return StepList.start_step(AwaitPayment()).other_steps(Ship(), Refund())

    def handle_timeout(self, context: Context) -> StepDecision:
        return force_fail("out of time")

    @rpc
    def ship_now(self, context: Context, order_id: str) -> RPCResult[None]:
        return RPCResult(next_steps=(StepMovement.of(Ship, order_id),))
