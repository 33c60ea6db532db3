"""Locked RPCs on the node that owns their Flow, beside bare nats-py that publishes to the same servers."""

from collections.abc import Iterator

from dex.engine.client import Client
from dex.samples.chunked_subscribers import ChunkedSubscribers
from tests.bench.clusters import Bare, journal_servers, node, wait_until_owned
from tests.bench.harness import Line, Run, costs, interleave, seconds


def calls(run: Run) -> Iterator[Line]:
    """Register subscribers one at a time."""
    count = run.size(200, 8)
    with journal_servers(run.folder) as servers, node(servers, run.folder) as engine, Bare(servers) as bare:
        wait_until_owned(engine)
        subscribers = ChunkedSubscribers(Client(engine))
        subscribers.run.start()
        measured = interleave(
            lambda number: seconds(
                lambda: [subscribers.register(f"s{number}-{each}", "here") for each in range(count)]
            ),
            lambda _: bare.run(bare.publish(count, 1)),
            run.pairs(),
        )
        yield costs("cluster locked RPC, a bare publish", "ms", measured, None, scale=1000 / count)


BENCHES = {"cluster-rpc": calls}
