"""What an RPC pays for being synced: the mark that its commit makes."""

from collections.abc import Iterator
from statistics import median

from tests.bench.harness import Goal, Line, Pair, Run, costs, seconds
from tests.bench.orders import BenchOrderFlow, connect_synced, flow_id, parts_of, start_orders


def marking(run: Run) -> Iterator[Line]:
    """Set one Attribute in a Flow that names a store and in one that names none; nobody writes the backlog."""
    count = run.size(200, 5)
    flow = BenchOrderFlow()
    with connect_synced(run.folder) as client:
        start_orders(parts_of(client), 1)
        client.start_flow(flow, "plain")
        measured: list[Pair] = []
        for pair in range(run.pairs()):
            numbers = range(pair * count, (pair + 1) * count)
            taken = [
                Pair(
                    seconds(lambda: client.invoke_rpc(flow.set_total, flow_id(0), number)),  # noqa: B023  # called at once
                    seconds(lambda: client.invoke_rpc(flow.set_total, "plain", number)),  # noqa: B023  # as above
                )
                for number in numbers
            ]
            measured.append(Pair(median(each.ours for each in taken), median(each.reference for each in taken)))
    yield costs("RPC with sync, without", "ms", measured, Goal("≤", 1.15), scale=1000)


BENCHES = {"marking": marking}
