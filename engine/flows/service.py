"""Flow commands on the embedded engine: each is one function of the runtime's parts and the command."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from dex.engine.clock import Clock
from dex.engine.failures import RecentFailures
from dex.engine.flows import inspecting, mutating, waiting
from dex.engine.flows.callgate import CallGate
from dex.engine.flows.locks import Locks
from dex.engine.flows.registry import Registry
from dex.engine.flows.runtime.begun import WORKER_LOCK
from dex.engine.flows.runtime.parts import Changes, Parts
from dex.engine.flows.runtime.rpcs import invoke
from dex.engine.flows.runtime.worker import Worker
from dex.engine.reader import Readers
from dex.engine.writer import Writer
from dex.wcl.commands import flows as commands
from dex.wcl.errors import InvalidCommand

_WORK_WHILE = (commands.WaitForFlow, commands.WaitForStep, commands.WaitForAttribute)


class Flows:
    """The Flows of one data directory. `worker` executes their Steps once it is started; `failures` are its own."""

    def __init__(
        self,
        readers: Readers,
        writer: Writer,
        registry: Registry,
        clock: Clock,
        data_dir: Path,
        attribute_stores: Collection[str],
    ) -> None:
        locks = Locks(CallGate(data_dir / "calls.lock"))
        self.failures = RecentFailures(clock)
        self.parts = Parts(
            readers, writer, registry, locks, clock, Changes(), Changes(), attribute_stores, {}, self.failures
        )
        self.worker = Worker(self.parts, data_dir / WORKER_LOCK)

    def execute(self, command: Any) -> Any:
        """Carry out a Flow command. Who waits for a Flow works its Steps meanwhile.

        Raises:
            DexError: of the kind that fits.
        """
        if isinstance(command, _WORK_WHILE):
            self.worker.start()
        try:
            return _HANDLERS[type(command)](self.parts, command)
        except OverflowError as error:
            raise InvalidCommand("a number in the command is out of range", "pass a 64-bit number") from error

    def close(self) -> None:
        """End the worker."""
        self.worker.stop()
        self.parts.locks.leave_file()


_HANDLERS: dict[type[Any], Callable[[Parts, Any], Any]] = {
    commands.StartFlow: mutating.start,
    commands.InvokeRpc: invoke,
    commands.SetAttributes: mutating.set_attributes,
    commands.PublishMessages: mutating.publish,
    commands.DeleteMessages: mutating.delete_messages,
    commands.StopFlow: mutating.stop,
    commands.TimeTravel: mutating.time_travel,
    commands.PurgeFlow: mutating.purge,
    commands.SkipTimer: mutating.skip_timer,
    commands.UpdateFlowConfig: mutating.update_config,
    commands.GetAttributes: inspecting.get_attributes,
    commands.ListMessages: inspecting.list_messages,
    commands.DescribeFlow: inspecting.describe,
    commands.GetFlowState: inspecting.state,
    commands.PageHistory: inspecting.history_page,
    commands.SearchFlows: inspecting.search_flows,
    commands.ShowFlowTypes: inspecting.types,
    commands.WaitForFlow: waiting.for_flow,
    commands.WaitForStep: waiting.for_step,
    commands.WaitForAttribute: waiting.for_attribute,
}

COMMANDS = frozenset(_HANDLERS)
