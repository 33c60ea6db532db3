"""The Flow part of the SDK's Client: the public names over typed commands (spec: FL-01 … FL-16)."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from dex.engine.flows.checking import checked
from dex.engine.protocol import Engine
from dex.wcl.commands import flowresults
from dex.wcl.commands import flows as commands
from dex.wcl.errors import InvalidCommand

if TYPE_CHECKING:
    from dex.engine.flows.attribute import Attribute, AttributeMap
    from dex.engine.flows.channel import Channel, ChannelMap
    from dex.engine.flows.flow import Flow
    from dex.engine.flows.flowtype import FlowType
    from dex.engine.flows.options import StartFlowOptions, StopFlowOptions, TimeTravelOptions
    from dex.engine.flows.rpc import BoundRPC, RPCInvokeOptions
    from dex.engine.flows.step import Step

I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output
T = TypeVar("T")

_MILLISECOND = timedelta(milliseconds=1)
DEFAULT_WAIT = timedelta(seconds=60)


class FlowClient:
    """Starts, calls, inspects and stops Flows.

    A Flow that is passed in is made known to the engine by that, and its Steps are worked by this process.
    """

    engine: Engine

    @checked("client.register(OrderFlow)")
    def register(self, *flows: "Flow[Any] | type[Flow[Any]]") -> None:
        """Make Flow types known to the engine, and work their Steps from now on.

        Raises:
            FlowDefinitionError: one contradicts itself, or another Flow has its name.
        """
        for flow in flows:
            self._known(flow)

    @checked("client.start_flow(OrderFlow, 'order-1', input, options=StartFlowOptions())")
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

    @checked("client.invoke_rpc(OrderFlow().cancel, 'order-1', input, options=RPCInvokeOptions())")
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
            read_only=rpc_type.definition.options.read_only,
        )
        output: O = self._typed(self.engine.execute(command).output, rpc_type.definition.output_type)
        return output

    @checked("client.get_attribute(STATUS, 'order-1')")
    def get_attribute(
        self, definition: "Attribute[T] | AttributeMap[T]", flow_id: str, instance: str | None = None
    ) -> T | None:
        """Give the value of an Attribute, or of an instance of an AttributeMap; None where it is unset."""
        key = _key(definition, instance)
        value: T | None = self._typed(self.get_attributes(flow_id, [key]).get(key), definition.value_type)
        return value

    @checked("client.get_attributes('order-1', ['Status'])")
    def get_attributes(self, flow_id: str, names: Sequence[str] = (), run_id: str | None = None) -> dict[str, Any]:
        """Give the values of attributes that are set, by name or all."""
        command = commands.GetAttributes(flow_id=flow_id, names=list(names), run_id=run_id)
        return self.engine.execute(command).attributes

    @checked("client.set_attribute(STATUS, 'order-1', 'paid')")
    def set_attribute(
        self,
        definition: "Attribute[T] | AttributeMap[T]",
        flow_id: str,
        value: T | None,
        instance: str | None = None,
    ) -> None:
        """Write an Attribute, or an instance of an AttributeMap; None deletes it."""
        self.set_attributes(flow_id, {_key(definition, instance): _encoded(definition, value)})

    @checked("client.set_attributes('order-1', {'Status': 'paid'})")
    def set_attributes(self, flow_id: str, attributes: Mapping[str, Any]) -> None:
        """Write attributes by name in one commit; None deletes."""
        self.engine.execute(commands.SetAttributes(flow_id=flow_id, attributes=dict(attributes)))

    @checked("client.publish(PAYMENTS, 'order-1', 400, 500)")
    def publish(
        self, channel: "Channel[T] | ChannelMap[T]", flow_id: str, *messages: T, instance: str | None = None
    ) -> list[str]:
        """Publish messages to a Channel, or to an instance of a ChannelMap, in one commit and give their ids."""
        encoded = [commands.Encoded(channel.encode(message)) for message in messages]
        command = commands.PublishMessages(flow_id=flow_id, channel=_key(channel, instance), messages=encoded)
        return self.engine.execute(command).message_ids

    @checked("client.wait_for_flow('order-1', timedelta(seconds=10))")
    def wait_for_flow(
        self, flow_id: str, timeout: timedelta = DEFAULT_WAIT, run_id: str | None = None
    ) -> flowresults.FlowResult:
        """Wait until a run is closed, and tell how it ended.

        Raises:
            LongPollTimeoutError: it was not closed in time.
        """
        return self.engine.execute(commands.WaitForFlow(flow_id=flow_id, run_id=run_id, wait_ms=_ms(timeout)))

    @checked("client.wait_for_step_completion('order-1', Ship, timedelta(seconds=10))")
    def wait_for_step_completion(
        self, flow_id: str, step: "type[Step[Any]] | Step[Any] | str", timeout: timedelta = DEFAULT_WAIT
    ) -> flowresults.StepResult:
        """Wait until a step, by its class, type or execution id, is over."""
        from dex.engine.flows.decision import step_type_of

        command = commands.WaitForStep(flow_id=flow_id, step=step_type_of(step), wait_ms=_ms(timeout))
        return self.engine.execute(command)

    @checked("client.wait_for_attribute_equal(STATUS, 'order-1', 'paid', timedelta(seconds=10))")
    def wait_for_attribute_equal(
        self,
        definition: "Attribute[T] | AttributeMap[T]",
        flow_id: str,
        value: T | None,
        timeout: timedelta = DEFAULT_WAIT,
        instance: str | None = None,
    ) -> None:
        """Wait until an Attribute, or an instance of an AttributeMap, has a value."""
        wanted, key = _encoded(definition, value), _key(definition, instance)
        self.engine.execute(commands.WaitForAttribute(flow_id=flow_id, name=key, value=wanted, wait_ms=_ms(timeout)))

    @checked("client.describe_flow('order-1')")
    def describe_flow(self, flow_id: str, run_id: str | None = None) -> flowresults.FlowDescription:
        """Tell all about a run."""
        return self.engine.execute(commands.DescribeFlow(flow_id=flow_id, run_id=run_id))

    @checked("client.search_flows({'type': 'OrderFlow', 'status': 'running', 'attributes': {'Status': 'paid'}})")
    def search_flows(
        self, query: Mapping[str, Any] | None = None, page_size: int = 100, page_token: str | None = None
    ) -> flowresults.FlowPage:
        """Find runs, the newest first; `query` has `type`, `status` and `attributes` (values by name)."""
        from dex.wcl.wire import command_from

        asked = {**(query or {}), "command": "search_flows", "limit": page_size, "page_token": page_token}
        page: flowresults.FlowPage = self.engine.execute(command_from(asked, "query"))
        return page

    @checked("client.skip_timer('order-1', 'AwaitPayment-1', 'too-late')")
    def skip_timer(self, flow_id: str, step_execution_id: str, condition_id: str | None = None, index: int = 0) -> None:
        """Fire a timer of a waiting step now, by its condition id or by its number from 0."""
        command = commands.SkipTimer(
            flow_id=flow_id,
            step_execution_id=step_execution_id,
            condition_id=condition_id,
            index=index if condition_id is None else None,
        )
        self.engine.execute(command)

    @checked("client.stop_flow('order-1', StopFlowOptions(StopType.CANCEL))")
    def stop_flow(self, flow_id: str, options: "StopFlowOptions | None" = None) -> None:
        """Close a run at once."""
        from dex.engine.flows.options import StopFlowOptions

        chosen = options or StopFlowOptions()
        command = commands.StopFlow(
            flow_id=flow_id, run_id=chosen.run_id, kind=chosen.stop_type.value, reason=chosen.reason
        )
        self.engine.execute(command)

    @checked("client.time_travel('order-1', TimeTravelOptions.to_beginning())")
    def time_travel(self, flow_id: str, options: "TimeTravelOptions") -> str:
        """Go on from a past state of a run in a new one, and give its run id."""
        command = commands.TimeTravel(
            flow_id=flow_id, run_id=options.run_id, to=_target(options), reason=options.reason
        )
        return self.engine.execute(command).run_id

    @checked("client.update_flow_config('order-1', ['orders'])")
    def update_flow_config(self, flow_id: str, attribute_store_names: Sequence[str]) -> None:
        """Change the stores that a run's attributes are synced to."""
        command = commands.UpdateFlowConfig(flow_id=flow_id, attribute_stores=list(attribute_store_names))
        self.engine.execute(command)

    def _typed(self, value: Any, declared_type: Any) -> Any:
        """Give a value of the declared type: a server tells it as JSON, the embedded engine as what it is."""
        if value is None or hasattr(self.engine, "flows"):
            return value
        from dex.engine.flows.edge import from_edge

        return from_edge(value, declared_type)

    def _known(self, flow: Any) -> "FlowType":
        """Give the compiled type of a Flow, known to the engine from now on."""
        local = getattr(self.engine, "flows", None)
        if local is None:
            from dex.engine.flows.flowtype import FlowType

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


def _encoded(definition: "Attribute[T] | AttributeMap[T]", value: T | None) -> commands.Encoded | None:
    data = definition.encode(value)
    return None if data is None else commands.Encoded(data)


def _key(definition: Any, instance: str | None) -> str:
    """Give the key of an Attribute or Channel, or of an instance of a map, which has no value as a whole."""
    from dex.engine.flows.attribute import AttributeMap
    from dex.engine.flows.channel import ChannelMap
    from dex.engine.flows.keys import escape

    if isinstance(definition, AttributeMap | ChannelMap) is (instance is not None):
        return str(definition.name) if instance is None else escape(definition.name, instance)
    if instance is None:
        raise InvalidCommand(f"{definition!r} has instances, and none is named", "pass instance='…'")
    raise InvalidCommand(f"{definition!r} has no instances, and {instance!r} is named", "leave out instance")


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
