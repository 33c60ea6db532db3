"""How an application talks to the one run of a Flow that is started once and stays open."""

from typing import TypeVar

from dex import (
    Client,
    Flow,
    FlowAlreadyStartedError,
    FlowNotActiveOrNotFoundError,
    FlowNotFoundError,
    NotFound,
    RPCInvokeOptions,
)
from dex.engine.flows.rpc import BoundRPC
from dex.engine.lockretry import LockRetry
from dex.wcl.commands.flowresults import FlowStarted
from dex.wcl.commands.flows import StartFlow

I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output


class OpenFlow:
    """The run of `flow` under `flow_id`; `how` says how a person starts it."""

    def __init__(self, client: Client, flow: Flow[None], flow_id: str, how: str, retry: LockRetry | None) -> None:
        self.client = client
        self.flow = flow
        self.flow_id = flow_id
        self._how = how
        self._retry = retry or LockRetry()
        client.register(flow)

    def start(self) -> FlowStarted:
        """Start it without a timeout; a run that is open stays as it is.

        Raises:
            FlowAlreadyStartedError: the Flow ID is taken by a Flow of another type.
        """
        flow_type = self.flow.get_flow_type()
        try:
            return self.client.execute(StartFlow(type=flow_type, flow_id=self.flow_id))
        except FlowAlreadyStartedError:
            there = self.client.describe_flow(self.flow_id)
            if there.type != flow_type:
                raise
            return FlowStarted(flow_id=self.flow_id, run_id=there.run_id, started=False)

    def read(self, rpc: BoundRPC[I, O], value: I, options: RPCInvokeOptions) -> O:
        """Call an RPC once.

        Raises:
            NotFound: the Flow is not started.
        """
        try:
            return self.client.invoke_rpc(rpc, self.flow_id, value, options)
        except (FlowNotFoundError, FlowNotActiveOrNotFoundError) as error:
            raise self._not_started() from error

    def write(self, rpc: BoundRPC[I, O], value: I, options: RPCInvokeOptions) -> O:
        """Call an RPC, and again while it loses a lock.

        Raises:
            NotFound: the Flow is not started.
            RPCLockConflict: the lock was held at every attempt.
        """
        return self._retry.run(lambda: self.read(rpc, value, options))

    def check_started(self) -> None:
        """Find out before long work whether there is a run to write to.

        Raises:
            NotFound: the Flow is not started.
        """
        try:
            running = self.client.describe_flow(self.flow_id).status == "running"
        except FlowNotFoundError:
            running = False
        if not running:
            raise self._not_started()

    def _not_started(self) -> NotFound:
        message = f"the Flow {self.flow_id!r} is not started"
        return NotFound(message, f"start it once with {self._how}", flow_id=self.flow_id)
