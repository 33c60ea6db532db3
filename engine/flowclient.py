"""The Flow part of the SDK's Client: the public names over typed commands (spec: FL-01 … FL-16)."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from dex.engine.protocol import Engine
from dex.wcl.commands import flows as commands

if TYPE_CHECKING:
    from dex.engine.flows.attribute import Attribute
    from dex.engine.flows.channel import Channel
    from dex.engine.flows.flow import Flow
    from dex.engine.flows.flowtype import FlowType
    from dex.engine.flows.options import StartFlowOptions, StopFlowOptions, TimeTravelOptions
    from dex.engine.flows.rpc import BoundRPC, RPCInvokeOptions

I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output

_MILLISECOND = timedelta(milliseconds=1)
DEFAULT_WAIT = timedelta(seconds=60)


class FlowClient:
    """Starts, calls, inspects and stops Flows.

    A Flow that is passed in is made known to the engine by that, and its Steps are worked by this process.
    """

    engine: Engine

    def register(self, *flows: "Flow[Any] | type[Flow[Any]]") -> None:
        """Make Flow types known to the engine, and work their Steps from now on.

        Raises:
            FlowDefinitionError: one contradicts itself, or another Flow has its name.
        """
        for flow in flows:
            self._known(flow)

    def start_flow(
        self,
        flow: "Flow[Any] | type[Flow[Any]]",
        flow_id: str,
        input: Any = None,  # noqa: A002  # the SDK's name
        options: "StartFlowOptions | None" = None,
    ) -> str:
        """Start a run and give its run id.

        Raises:
            FlowAlreadyStartedError: the Flow ID is taken, and `options` does not allow to use it again.
            ValueMappingError: the input is not of the Flow's input type.
        """
        from dex.engine.flows.options import StartFlowOptions

        flow_type = self._known(flow)
        chosen = options or StartFlowOptions()
        command = commands.StartFlow(
            type=flow_type.name,
            flow_id=flow_id,
            input=commands.Encoded(flow_type.encode_input(input)),
            attributes={name: commands.Encoded(data) for name, data in chosen.attributes.items()},
            attribute_stores=list(chosen.config_override.attribute_store_names) if chosen.config_override else [],
            timeout_ms=_ms(chosen.timeout),
            timeout_policy=chosen.timeout_policy.value,
            start_delay_ms=_ms(chosen.start_delay),
            id_reuse=chosen.id_reuse_policy.value,
            ignore_already_started=chosen.ignore_already_started,
            request_id=chosen.request_id,
            retry_policy=_retry(chosen.retry_policy),
        )
        return self.engine.execute(command).run_id

    def invoke_rpc(
        self,
        rpc: "BoundRPC[I, O]",
        flow_id: str,
        input: Any = None,  # noqa: A002  # the SDK's name
        options: "RPCInvokeOptions | None" = None,
    ) -> O:
        """Call an RPC, named as a method of a Flow's instance, and give its output.

        Raises:
            RPCLockConflict: a lock is held by another call; try again.
            WorkerInvocationError: the handler failed; nothing was kept.
        """
        flow_type = self._known(rpc.flow)
        rpc_type = flow_type.rpc(rpc.name)
        access = flow_type.rpc_access(rpc_type, options) if options is not None else None
        command = commands.InvokeRpc(
            flow_id=flow_id,
            rpc=rpc.name,
            input=commands.Encoded(rpc_type.encode_input(input)),
            lock=sorted(access.locks) if access else [],
            load=sorted(access.instances) if access else [],
            load_channels=[key for key in sorted(access.channels) if "/" in key] if access else [],
        )
        return self.engine.execute(command).output  # type: ignore[no-any-return]  # by the RPC's own declaration

    def get_attribute(self, definition: "Attribute[Any]", flow_id: str, instance: str | None = None) -> Any:
        """Give the value of an Attribute, or of an instance of an AttributeMap; None where it is unset."""
        key = _key(definition, instance)
        return self.get_attributes(flow_id, [key]).get(key)

    def get_attributes(self, flow_id: str, names: Sequence[str] = (), run_id: str | None = None) -> dict[str, Any]:
        """Give the values of attributes that are set, by name or all."""
        command = commands.GetAttributes(flow_id=flow_id, names=list(names), run_id=run_id)
        return self.engine.execute(command).attributes

    def set_attribute(
        self, definition: "Attribute[Any]", flow_id: str, value: Any, instance: str | None = None
    ) -> None:
        """Write one attribute; None deletes it."""
        data = definition.encode(value)
        encoded = None if data is None else commands.Encoded(data)
        self.set_attributes(flow_id, {_key(definition, instance): encoded})

    def set_attributes(self, flow_id: str, attributes: Mapping[str, Any]) -> None:
        """Write attributes by name in one commit; None deletes."""
        self.engine.execute(commands.SetAttributes(flow_id=flow_id, attributes=dict(attributes)))

    def publish(self, channel: "Channel[Any]", flow_id: str, *messages: Any, instance: str | None = None) -> list[str]:
        """Publish messages to a Channel in one commit and give their ids."""
        encoded = [commands.Encoded(channel.encode(message)) for message in messages]
        command = commands.PublishMessages(flow_id=flow_id, channel=_key(channel, instance), messages=encoded)
        return self.engine.execute(command).message_ids

    def wait_for_flow(
        self, flow_id: str, timeout: timedelta = DEFAULT_WAIT, run_id: str | None = None
    ) -> commands.FlowResult:
        """Wait until a run is closed, and tell how it ended.

        Raises:
            LongPollTimeoutError: it was not closed in time.
        """
        return self.engine.execute(commands.WaitForFlow(flow_id=flow_id, run_id=run_id, wait_ms=_ms(timeout)))

    def wait_for_step_completion(
        self, flow_id: str, step: str, timeout: timedelta = DEFAULT_WAIT
    ) -> commands.StepResult:
        """Wait until a step, by its type or execution id, is over."""
        return self.engine.execute(commands.WaitForStep(flow_id=flow_id, step=step, wait_ms=_ms(timeout)))

    def wait_for_attribute_equal(
        self, definition: "Attribute[Any]", flow_id: str, value: Any, timeout: timedelta = DEFAULT_WAIT
    ) -> None:
        """Wait until an Attribute has a value."""
        data = definition.encode(value)
        wanted = None if data is None else commands.Encoded(data)
        command = commands.WaitForAttribute(flow_id=flow_id, name=definition.name, value=wanted, wait_ms=_ms(timeout))
        self.engine.execute(command)

    def describe_flow(self, flow_id: str, run_id: str | None = None) -> commands.FlowDescription:
        """Tell all about a run."""
        return self.engine.execute(commands.DescribeFlow(flow_id=flow_id, run_id=run_id))

    def search_flows(
        self, query: Mapping[str, Any] | None = None, page_size: int = 100, page_token: str | None = None
    ) -> commands.FlowPage:
        """Find runs, the newest first; `query` has `type`, `status` and `attributes` (values by name)."""
        command = commands.SearchFlows(**dict(query or {}), limit=page_size, page_token=page_token)
        return self.engine.execute(command)

    def skip_timer(self, flow_id: str, step_execution_id: str, condition_id: str | None = None, index: int = 0) -> None:
        """Fire a timer of a waiting step now, by its condition id or by its number from 0."""
        command = commands.SkipTimer(
            flow_id=flow_id,
            step_execution_id=step_execution_id,
            condition_id=condition_id,
            index=index if condition_id is None else None,
        )
        self.engine.execute(command)

    def stop_flow(self, flow_id: str, options: "StopFlowOptions | None" = None) -> None:
        """Close a run at once."""
        from dex.engine.flows.options import StopFlowOptions

        chosen = options or StopFlowOptions()
        command = commands.StopFlow(
            flow_id=flow_id, run_id=chosen.run_id, kind=chosen.stop_type.value, reason=chosen.reason
        )
        self.engine.execute(command)

    def time_travel(self, flow_id: str, options: "TimeTravelOptions") -> str:
        """Go on from a past state of a run in a new one, and give its run id."""
        command = commands.TimeTravel(
            flow_id=flow_id, run_id=options.run_id, to=_target(options), reason=options.reason
        )
        return self.engine.execute(command).run_id

    def update_flow_config(self, flow_id: str, attribute_store_names: Sequence[str]) -> None:
        """Change the stores that a run's attributes are synced to."""
        command = commands.UpdateFlowConfig(flow_id=flow_id, attribute_stores=list(attribute_store_names))
        self.engine.execute(command)

    def _known(self, flow: Any) -> "FlowType":
        """Give the compiled type of a Flow, known to the engine from now on."""
        from dex.engine.flows.flowtype import FlowType

        local = getattr(self.engine, "flows", None)
        if local is None:
            return FlowType.of(flow)
        known: FlowType = local.parts.registry.register(flow)
        if known.steps:
            local.worker.start()
        return known


def _ms(duration: timedelta | None) -> int:
    return 0 if duration is None else duration // _MILLISECOND


def _retry(policy: Any) -> commands.RetrySettings | None:
    if policy is None:
        return None
    return commands.RetrySettings(
        _ms(policy.initial_interval),
        policy.backoff_coefficient,
        _ms(policy.maximum_interval),
        policy.maximum_attempts,
        _ms(policy.total_duration),
    )


def _key(definition: Any, instance: str | None) -> str:
    from dex.engine.flows.keys import escape

    return str(definition.name) if instance is None else escape(definition.name, instance)


def _target(options: "TimeTravelOptions") -> commands.Target:
    from dex.engine.flows.options import TimeTravelTo

    target: Any = options.target
    match options.to:
        case TimeTravelTo.BEGINNING:
            return commands.Beginning()
        case TimeTravelTo.EVENT:
            return commands.Event(target)
        case TimeTravelTo.TIME:
            return commands.Time(int(target.timestamp() * 1000))
        case TimeTravelTo.STEP_TYPE:
            return commands.StepType(target)
        case _:
            return commands.StepExecution(target)
