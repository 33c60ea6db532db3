"""Puts on a node of a cluster, beside bare nats-py that publishes as many bytes to the same servers."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from dex.engine.client import Client, connect
from dex.engine.cluster.engine import ClusterEngine
from dex.engine.statestore import StateStore
from dex.wcl.wire import encode
from tests.bench.clusters import IN_FLIGHT, Bare, journal_servers, node, processes
from tests.bench.harness import Goal, Line, Pair, Run, costs, interleave, seconds, speeds
from tests.bench.load import load, post
from tests.bench.sample import Row, command, define, rows

_NODES = ("b", "c")


def puts(run: Run) -> Iterator[Line]:
    """Put rows in one process."""
    many = run.size(2000, 128)
    with journal_servers(run.folder) as servers, node(servers, run.folder) as engine, Bare(servers) as bare:
        store = define(Client(engine))
        count, measured = _one_at_a_time(run, store, bare)
        yield costs("cluster put, one at a time, a bare publish", "ms", measured, Goal("≤", 1.6), scale=1000 / count)
        measured = _in_threads(run, store, bare, many)
        yield speeds("cluster put, 64 threads, 64 bare publishes in flight", many, measured, Goal("≥", 0.7))
        measured = _in_calls(run, engine, bare, many, IN_FLIGHT, 10**7)
        yield speeds("cluster puts, 64 in each call, 64 bare publishes", many, measured, Goal("≥", 0.7))
        measured = _in_calls(run, engine, bare, many, many, 10**8)
        yield speeds("cluster puts, all in one call, 64 bare publishes", many, measured, Goal("≥", 0.7))


def http_puts(run: Run) -> Iterator[Line]:
    """Put rows over HTTP to a node that is a process of its own, which is how most callers do."""
    many = run.size(4000, 128)
    with (
        journal_servers(run.folder) as servers,
        processes(servers, "a") as nodes,
        Bare(servers) as bare,
        connect(nodes["a"].url) as client,
    ):
        define(client)
        port = int(nodes["a"].url.rpartition(":")[2])

        def over_http(connections: int) -> list[Pair]:
            def ours(number: int) -> float:
                start = connections * 10**7 + number * many
                requests = [post("/v1/commands", encode(command(row))) for row in rows(many, start=start)]
                return load(port, requests, connections).seconds

            return interleave(ours, lambda _: bare.run(bare.publish(many, connections)), run.pairs())

        for connections in (1, IN_FLIGHT):
            measured = over_http(connections)
            goal = Goal("≥", 0.7) if connections == IN_FLIGHT else None
            yield speeds(f"cluster HTTP put, {connections} at once, as many bare publishes", many, measured, goal)


def more_nodes(run: Run) -> Iterator[Line]:
    """Put rows on one node while more and more others apply them too."""
    many = run.size(2000, 128)
    with (
        journal_servers(run.folder) as servers,
        node(servers, run.folder) as engine,
        Bare(servers) as bare,
        ExitStack() as others,
    ):
        store = define(Client(engine))
        for place, name in enumerate(("", *_NODES)):
            if name:
                others.enter_context(processes(servers, name))
            start, what = place * 10**8, f"of {place + 1} node{'s' if place else ''}"
            count, measured = _one_at_a_time(run, store, bare, start)
            yield costs(f"cluster put {what}, a bare publish", "ms", measured, None, scale=1000 / count)
            measured = _in_calls(run, engine, bare, many, many, start + 10**7)
            yield speeds(f"cluster puts in one call {what}, 64 bare publishes", many, measured, None)


def _one_at_a_time(run: Run, store: StateStore, bare: Bare, start: int = 0) -> tuple[int, list[Pair]]:
    """Give how many were put each time, and the seconds."""
    count = run.size(200, 8)

    def put(number: int) -> float:
        values = [_values(row) for row in rows(count, start=start + number * count)]

        def work() -> None:
            for each in values:
                store.put(*each)

        return seconds(work)

    return count, interleave(put, lambda _: bare.run(bare.publish(count, 1)), run.pairs())


def _in_threads(run: Run, store: StateStore, bare: Bare, many: int) -> list[Pair]:
    """Put rows in threads, each of which takes the next as soon as one is put, as the bare publishers do."""

    def put(number: int) -> float:
        left = iter([_values(row) for row in rows(many, start=10**6 + number * many)])

        def work(_: int) -> None:
            for each in left:
                store.put(*each)

        return seconds(lambda: list(threads.map(work, range(IN_FLIGHT))))

    with ThreadPoolExecutor(IN_FLIGHT) as threads:
        return interleave(put, lambda _: bare.run(bare.publish(many, IN_FLIGHT)), run.pairs())


def _in_calls(run: Run, engine: ClusterEngine, bare: Bare, many: int, each: int, start: int) -> list[Pair]:
    """Put rows, so many in each call, one call after the other."""

    def put(number: int) -> float:
        commands = [command(row) for row in rows(many, start=start + number * many)]
        calls = [commands[begin : begin + each] for begin in range(0, many, each)]
        return seconds(lambda: [engine.execute_many(call) for call in calls])

    return interleave(put, lambda _: bare.run(bare.publish(many, IN_FLIGHT)), run.pairs())


def _values(row: Row) -> tuple[bytes, bytes, dict[str, Any]]:
    return row.key, row.payload, {"department": row.department, "passport": row.passport}


BENCHES = {"cluster-puts": puts, "cluster-http-puts": http_puts, "cluster-nodes": more_nodes}
