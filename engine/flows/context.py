"""Context: what a handler knows of its call."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from dex.engine.flows import codec
from dex.engine.flows.checking import checked
from dex.engine.flows.workspace import Workspace


class Context:
    """The first argument of every handler; Attributes and Channels are read and written through it.

    `step_execution_id` is `StepType-N`, empty in an RPC. `attempt` counts from 1, and `first_attempt_at` is when the
    first one began, None in an RPC. `recovery_error` says why an earlier Step failed for good, in the Step that
    follows it by `on_execute_failure_proceed_to`; else it is None.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        flow_id: str,
        run_id: str,
        step_execution_id: str = "",
        attempt: int = 1,
        first_attempt_at: datetime | None = None,
        recovery_error: str | None = None,
        timers_fired: Sequence[bool] = (),
        cancellation_requested: Callable[[], bool] = bool,
    ) -> None:
        self.workspace = workspace
        self.flow_id = flow_id
        self.run_id = run_id
        self.step_execution_id = step_execution_id
        self.attempt = attempt
        self.first_attempt_at = first_attempt_at
        self.recovery_error = recovery_error
        self._timers_fired = timers_fired
        self._cancellation_requested = cancellation_requested

    @checked("context.has_timer_fired(0)")
    def has_timer_fired(self, index: int = 0) -> bool:
        """Tell whether the Timer number `index` (from 0) of the wait before this execute has fired."""
        return 0 <= index < len(self._timers_fired) and self._timers_fired[index]

    @property
    def is_cancellation_requested(self) -> bool:
        """Whether this call's result is no longer wanted: it has run out of time or the Flow was stopped."""
        return self._cancellation_requested()

    @checked("context.set_step_execution_local('asked', value)")
    def set_step_execution_local(self, name: str, value: Any) -> None:
        """Keep a value for this Step execution only, from `wait_for` to `execute`.

        Raises:
            ValueMappingError: the value cannot be stored.
        """
        self.workspace.write_local(name, codec.encode_as(value, Any, f"step execution local {name}"))

    @checked("context.get_step_execution_local('asked', int)")
    def get_step_execution_local(self, name: str, value_type: Any = Any) -> Any:
        """Give a value that this Step execution keeps, as `value_type`.

        Raises:
            KeyError: there is none.
            ValueMappingError: it is not of that type.
        """
        data = self.workspace.read_local(name)
        if data is None:
            raise KeyError(name)
        return codec.decode(data, value_type)

    @checked("context.record_event('shipped', value)")
    def record_event(self, name: str, value: Any = None) -> None:
        """Put an event of your own into the Flow's history with this call's commit.

        Raises:
            ValueMappingError: the value cannot be stored.
        """
        self.workspace.record_event(name, codec.encode_as(value, Any, f"value of event {name}"))
