"""`dex cluster …`, as whoever tries a cluster out for the first time uses it."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from tests.acceptance.conftest import Dex

_PATIENCE = 60.0
_NODES = ["node-1", "node-2", "node-3"]


@contextmanager
def _running(dex: Dex, *arguments: str) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """Run `dex cluster dev`, and give it and the addresses it tells of."""
    process = dex.start("cluster", "dev", *arguments)
    try:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())["endpoint"]
    finally:
        process.kill()
        process.communicate(timeout=_PATIENCE)


def _wait_until_gone(processes: list[psutil.Process]) -> None:
    _gone, alive = psutil.wait_procs(processes, _PATIENCE)
    assert alive == []


@pytest.mark.spec("K-08", "K-09", "X-05")
def test_a_cluster_to_try_is_checked_end_to_end_and_keeps_its_files_in_a_directory(dex: Dex) -> None:
    """SIGTERM ends all of it well; the next one in the same directory has the same rows, and dies whole by SIGKILL."""
    place = ["--data-dir", str(dex.home / "tried")]
    with _running(dex, *place) as (process, endpoint):
        found = dex.ok("smoke", "--endpoint", endpoint).json
        assert {check["status"] for check in found} == {"ok"}
        assert "cluster" in {check["check"] for check in found}
        dex.ok("store", "define", "people", "--endpoint", endpoint)
        dex.ok("store", "put", "people", "k", "v", "--endpoint", endpoint)
        _status(dex, endpoint)
        second = dex("cluster", "dev", *place)
        assert second.code == 4
        assert "another cluster runs in" in second.err
        process.send_signal(signal.SIGTERM)
        assert process.wait(_PATIENCE) == 0
    with _running(dex, *place) as (process, endpoint):
        assert dex.ok("store", "get", "people", "k", "--strict", "--endpoint", endpoint).json["payload"] == "v"
        children = psutil.Process(process.pid).children(recursive=True)
        assert len(children) >= 6
        process.kill()
        _wait_until_gone(children)


def _status(dex: Dex, endpoint: str) -> None:
    """The status is one document, or two tables; it can be watched; a node is drained by its name."""
    status = dex.ok("cluster", "status", "--endpoint", endpoint).json
    assert [node["name"] for node in status["nodes"]] == _NODES
    table = dex.ok("cluster", "status", "-o", "table", "--endpoint", endpoint).text
    assert all(f"behind {name}" in table for name in _NODES)
    watching = dex.start("cluster", "status", "--watch", "-o", "ndjson", "--endpoint", endpoint)
    assert watching.stdout is not None
    assert all(json.loads(watching.stdout.readline())["journal"] for _ in range(2))
    watching.send_signal(signal.SIGINT)
    watching.communicate(timeout=_PATIENCE)
    assert watching.returncode == 130
    dex.ok("cluster", "drain", "node-2", "--endpoint", endpoint)
    deadline = time.monotonic() + _PATIENCE
    while "node-2" in _owners(dex, endpoint):
        assert time.monotonic() < deadline
    assert "draining" in dex.ok("cluster", "status", "-o", "table", "--endpoint", endpoint).text
    taken = {
        found["partition"]: found["position"] for found in dex.ok("cluster", "snapshot", "--endpoint", endpoint).json
    }
    partitions = dex.ok("cluster", "status", "--endpoint", endpoint).json["partitions"]
    assert taken == {partition["number"]: partition["snapshot"] for partition in partitions}
    unknown = dex("cluster", "drain", "node-9", "--endpoint", endpoint)
    assert "no node is named 'node-9'; the nodes are node-1, node-2, node-3" in unknown.err


def _owners(dex: Dex, endpoint: str) -> set[str | None]:
    partitions = dex.ok("cluster", "status", "--endpoint", endpoint).json["partitions"]
    return {partition["owner"] for partition in partitions}


@pytest.mark.spec("K-09")
@pytest.mark.parametrize("arguments", [["status"], ["drain", "node-1"], ["snapshot"]])
def test_where_there_is_no_cluster_the_message_says_what_to_do(dex: Dex, arguments: list[str]) -> None:
    """Nothing else is written."""
    done = dex("cluster", *arguments)
    assert done.code == 1
    assert done.out == b""
    assert "this is no node of a cluster; name one with --endpoint" in done.err
