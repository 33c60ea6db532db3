"""Gets on a node of a cluster: strictly beside a bare publish, and plainly beside the embedded engine."""

from collections.abc import Iterator

from dex.engine.client import Client, connect
from tests.bench.clusters import Bare, journal_servers, node
from tests.bench.harness import Goal, Line, Run, costs, interleave, seconds
from tests.bench.sample import define, fill, key


def gets(run: Run) -> Iterator[Line]:
    """Get rows that are there."""
    count, stored = run.size(200, 8), run.size(2000, 50)
    with (
        journal_servers(run.folder) as servers,
        node(servers, run.folder) as engine,
        Bare(servers) as bare,
        connect(run.folder / "embedded") as embedded,
    ):
        here, alone = Client(engine), define(embedded)
        store = define(here)
        fill(here, stored)
        fill(embedded, stored)
        keys = [key(number) for number in range(min(count, stored))]
        measured = interleave(
            lambda _: seconds(lambda: [store.get(each, strict=True) for each in keys]),
            lambda _: bare.run(bare.publish(len(keys), 1)),
            run.pairs(),
        )
        yield costs("cluster strict get, a bare publish", "ms", measured, Goal("≤", 2), scale=1000 / len(keys))
        measured = interleave(
            lambda _: seconds(lambda: [store.get(each) for each in keys * 10]),
            lambda _: seconds(lambda: [alone.get(each) for each in keys * 10]),
            run.pairs(),
        )
        yield costs("cluster get, the embedded engine", "ms", measured, Goal("≤", 1.1), scale=100 / len(keys))


BENCHES = {"cluster-gets": gets}
