"""Smoke checks of Flows, on runs of the two pattern Flows that are stopped and purged at the end."""

from collections.abc import Callable

from dex.cli.smoketarget import Mismatch, Target, expect
from dex.samples.customer_directory import partition_of
from dex.wcl.commands.flows import DescribeFlow, InvokeRpc, PageHistory, PurgeFlow, StartFlow, StopFlow
from dex.wcl.edge import to_edge
from dex.wcl.errors import FlowNotActiveOrNotFoundError, FlowNotFoundError, NotFound

_MAP = "CustomerProfilesByEmailPartition"


def _profiles(target: Target) -> str:
    """Upsert under a lock, read without one, and miss what is not there."""
    flow_id, engine = f"{target.flow}.profiles", target.engine
    engine.execute(StartFlow(type="CustomerDirectoryFlow", flow_id=flow_id))
    email = "smoke@example.test"
    profile = {"emailAddress": email, "fullName": "Smoke", "companyName": "Example", "customerTier": "none"}
    instance = f"{_MAP}/{partition_of(email)}"
    upsert = InvokeRpc(flow_id=flow_id, rpc="UpsertCustomerProfile", input=profile, lock=[instance], load=[instance])
    engine.execute(upsert)
    get = InvokeRpc(flow_id=flow_id, rpc="GetCustomerProfileByEmail", input=f" {email.upper()} ", load=[instance])
    expect(to_edge(engine.execute(get).output), profile, "profile")
    other = "nobody@example.test"
    load = [f"{_MAP}/{partition_of(other)}"]
    try:
        engine.execute(InvokeRpc(flow_id=flow_id, rpc="GetCustomerProfileByEmail", input=other, load=load))
    except NotFound:
        return "upserted and read one partition"
    raise Mismatch("a profile was found that nobody has upserted")


def _chunks(target: Target) -> str:
    """Append under two locks, and read the newest first."""
    flow_id, engine = f"{target.flow}.subscribers", target.engine
    engine.execute(StartFlow(type="ChunkedSubscriberFlow", flow_id=flow_id))
    for name in ("a", "b"):
        registration = {"subscriberId": name, "deliveryAddress": "smoke@example.test"}
        engine.execute(InvokeRpc(flow_id=flow_id, rpc="RegisterSubscriber", input=registration))
    load = ["SubscriberChunks/current"]
    page = engine.execute(
        InvokeRpc(flow_id=flow_id, rpc="GetSubscriberPage", input={"pageToken": "current"}, load=load)
    )
    found = [(one["sequence"], one["subscriberId"]) for one in to_edge(page.output)["subscribers"]]
    expect(found, [(2, "b"), (1, "a")], "subscribers")
    kinds = [event.kind for event in engine.execute(PageHistory(flow_id=flow_id)).events]
    expect(kinds, ["started", "rpc", "rpc"], "history")
    return "appended, paged and read back from the history"


def _stop(target: Target) -> str:
    """A stopped run takes no more calls, and is gone once it is purged."""
    flow_id, engine = f"{target.flow}.stopped", target.engine
    started = engine.execute(StartFlow(type="ChunkedSubscriberFlow", flow_id=flow_id))
    engine.execute(StopFlow(flow_id=flow_id, run_id=started.run_id))
    expect(engine.execute(DescribeFlow(flow_id=flow_id)).status, "canceled", "status")
    registration = {"subscriberId": "a", "deliveryAddress": "smoke@example.test"}
    try:
        engine.execute(InvokeRpc(flow_id=flow_id, rpc="RegisterSubscriber", input=registration))
    except FlowNotActiveOrNotFoundError:
        return "a stopped run refuses calls"
    raise Mismatch("a stopped run took a call")


def clean_flows(target: Target) -> None:
    """Stop and purge what the checks have started."""
    for name in ("profiles", "subscribers", "stopped"):
        flow_id = f"{target.flow}.{name}"
        try:
            run = target.engine.execute(DescribeFlow(flow_id=flow_id))
        except FlowNotFoundError:
            continue
        if run.status == "running":
            target.engine.execute(StopFlow(flow_id=flow_id, run_id=run.run_id, kind="terminate"))
        target.engine.execute(PurgeFlow(flow_id=flow_id, run_id=run.run_id))


FLOW_CHECKS: tuple[tuple[str, Callable[[Target], str]], ...] = (
    ("flow.profiles", _profiles),
    ("flow.subscribers", _chunks),
    ("flow.stop", _stop),
)
