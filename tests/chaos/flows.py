"""What the processes do that are killed while they work Flows."""

import sys
import time

from dex import (
    Attribute,
    Client,
    Context,
    Flow,
    IdReusePolicy,
    PersistenceSchema,
    StartFlowOptions,
    Step,
    StepDecision,
    StepList,
    connect,
    go_to,
    graceful_complete,
)
from dex.engine.lockretry import LockRetry
from dex.samples.chunked_subscribers import FLOW_ID, ChunkedSubscriberFlow, ChunkedSubscribers, Subscriber
from dex.wcl.errors import FlowAlreadyStartedError

LAST = 150
PATIENT = LockRetry(attempts=10_000, initial=0.001, maximum=0.02)
COUNT = Attribute("Count", int)


class Count(Step[int]):
    """Adds one to what is stored, so that a step that runs twice or never shows."""

    def execute(self, context: Context, input: int) -> StepDecision:
        try:
            count = COUNT.get(context)
        except KeyError:
            count = 0
        COUNT.set(context, count + 1)
        return go_to(Count, input + 1) if input < LAST else graceful_complete(input)


class Counting(Flow[int]):
    """One step after the other, up to LAST."""

    def get_persistence_schema(self) -> PersistenceSchema:
        return PersistenceSchema.of(COUNT)

    def get_steps(self) -> StepList:
        return StepList.start_step(Count)


def start_list(client: Client) -> None:
    """Start the list of subscribers, if nobody has."""
    options = StartFlowOptions(id_reuse_policy=IdReusePolicy.DISALLOW)
    try:
        client.start_flow(ChunkedSubscriberFlow, FLOW_ID, options=options)
    except FlowAlreadyStartedError:
        return


def subscribers(client: Client) -> list[Subscriber]:
    """Give all subscribers, the newest first, page by page."""
    list_, read, token = ChunkedSubscribers(client), [], "current"
    while token is not None:
        page = list_.page(token)
        read += page.subscribers
        token = page.next_page_token
    return read


def append(directory: str, who: str, count: str, seconds: str) -> None:
    """Register subscribers and tell the sequence and name of each once it is acknowledged."""
    with connect(directory) as client:
        list_ = ChunkedSubscribers(client, PATIENT)
        list_.page()
        tell("ready")
        sys.stdin.readline()
        end = time.monotonic() + float(seconds)
        number = 0
        while number < int(count) or time.monotonic() < end:
            added = list_.register(f"{who}-{number}", "somewhere")
            tell(added.sequence, added.subscriber_id)
            number += 1


def work(directory: str) -> None:
    """Work the counting Flow, and tell how far it is."""
    client = connect(directory)
    client.register(Counting)
    tell("ready")
    while True:
        tell(client.get_attribute(COUNT, "count") or 0)


def tell(*words: object) -> None:
    """Print a line at once."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Do what the first argument says, with the others."""
    {"append": append, "work": work}[sys.argv[1]](*sys.argv[2:])
