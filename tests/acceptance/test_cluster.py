"""`dex cluster …`, as whoever tries a cluster out for the first time uses it."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import msgspec
import psutil
import pytest

from dex.engine.cluster.link import Link
from dex.engine.cluster.messages import Message
from dex.engine.cluster.servers import JournalServers
from tests.acceptance.conftest import Dex
from tests.clusterprocesses import process_cluster
from tests.clusters import running_servers
from tests.serveprocess import ServeProcess

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


def _read_until(process: "subprocess.Popen[bytes]", told: str) -> list[str]:
    """Give what it says on standard error up to a line that has some text."""
    assert process.stderr is not None
    lines: list[str] = []
    while not lines or told not in lines[-1]:
        lines.append(process.stderr.readline().decode())
        assert lines[-1], lines
    return lines


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
        embedded = dex("store", "list", *place)
        assert embedded.code == 1
        assert "tried is the data directory of `dex cluster dev`" in embedded.err
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
    completed = dex.ok("__complete", "bash", f"dex --endpoint {endpoint} cluster drain node-")
    assert (completed.text.split(), completed.err) == (_NODES, "")
    table = dex.ok("cluster", "status", "-o", "table", "--endpoint", endpoint).text
    assert all(f"behind {name}" in table for name in _NODES)
    assert "null" not in table
    frames = dex.start("cluster", "status", "--watch", "-o", "table", "--endpoint", endpoint)
    assert frames.stdout is not None
    size = len(table.splitlines()) + 1
    lines = [frames.stdout.readline().decode() for _ in range(2 * size + 1)]
    assert lines[size] == "\n"
    assert lines[size + 2] == lines[1]
    looks = [datetime.fromisoformat(lines[0].strip()), datetime.fromisoformat(lines[size + 1].strip())]
    assert looks[0] < looks[1]
    frames.send_signal(signal.SIGINT)
    frames.communicate(timeout=_PATIENCE)
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
def test_a_watch_goes_on_while_the_node_that_it_asks_is_started_anew(dex: Dex) -> None:
    with running_servers() as servers, process_cluster(servers, ("a",)) as cluster:
        watching = dex.start("cluster", "status", "--watch", "-o", "ndjson", "--endpoint", cluster.endpoint)
        try:
            assert watching.stdout is not None
            assert json.loads(watching.stdout.readline())["answered_by"] == "a"
            cluster["a"].kill()
            _read_until(watching, "connection refused")
            cluster["a"].start().wait_until_ready()
            assert json.loads(watching.stdout.readline())["answered_by"] == "a"
            watching.send_signal(signal.SIGINT)
            watching.communicate(timeout=_PATIENCE)
            assert watching.returncode == 130
        finally:
            watching.kill()
            watching.communicate(timeout=_PATIENCE)


@pytest.mark.spec("K-07", "K-09", "X-03")
def test_a_node_that_is_killed_is_told_of_in_words_and_started_again_while_the_others_go_on(dex: Dex) -> None:
    """Its address stays, and the Flows that were named are known. A terminal that closes ends all of it."""
    flows = str(Path(__file__).parents[2] / "samples" / "order_flow.py")
    with _running(dex, "--flows", flows) as (process, endpoint):
        told = _read_until(process, "end one to see")
        children = psutil.Process(process.pid).children(recursive=True)
        node = next(child for child in children if "node-2" in child.cmdline())
        assert f"node-2 is process {node.pid}" in told[-1]
        assert "journal-1 is process" in told[-1]
        assert "OrderFlow" in dex.ok("flow", "types", "--endpoint", endpoint).text
        node.kill()
        dex.ok("feed", "define", "events", "--endpoint", endpoint)
        told = _read_until(process, "node-2 serves again")
        assert told[0] == "node-2 was ended by SIGKILL; starting it again\n"
        second = endpoint.split(",")[1]
        assert f"serves again at {second}, as process" in told[-1]
        assert "events" in dex.ok("feed", "list", "--endpoint", second).text
        children = psutil.Process(process.pid).children(recursive=True)
        server = next(child for child in children if "journal-1" in " ".join(child.cmdline()))
        server.kill()
        assert _read_until(process, "journal-1")[-1] == "journal-1 was ended by SIGKILL; starting it again\n"
        assert "journal-1 serves again, as process" in _read_until(process, "journal-1")[-1]
        children += psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGHUP)
        assert process.wait(_PATIENCE) == 0
        _wait_until_gone(children)


@pytest.mark.spec("K-09", "X-03")
def test_a_cluster_to_try_warns_of_flows_that_it_cannot_load(dex: Dex) -> None:
    """Once, though three nodes say so in their logs."""
    (dex.home / "broken.py").write_text("def x(:\n")
    with _running(dex, "--flows", "broken.py") as (process, _):
        told = _read_until(process, "end one to see")
    (warning,) = [line for line in told if line.startswith("warning: ")]
    assert "broken.py, line 1" in warning


@pytest.mark.spec("K-09", "X-03")
def test_a_cluster_that_does_not_come_up_says_why_in_words(dex: Dex) -> None:
    """What its nodes say is a log for machines."""
    done = dex("cluster", "dev", "--sync-config", "nowhere.yaml")
    assert done.code == 4
    assert "node-1 does not come up: it has ended with exit code 2: " in done.err
    assert "nowhere.yaml" in done.err
    assert "{" not in done.err


@pytest.mark.spec("K-03", "X-03")
def test_journal_servers_that_are_none_are_a_matter_of_usage(dex: Dex) -> None:
    """Nobody waits for them to answer."""
    done = dex("serve", "--cluster", "http://127.0.0.1:9", "--node", "a")
    assert done.code == 2
    assert "it does not begin with nats://" in done.err


@pytest.mark.spec("K-09")
def test_a_directory_of_something_else_is_not_taken_for_a_cluster_to_try(dex: Dex) -> None:
    """And nothing is put into it."""
    (dex.home / "letters").mkdir()
    (dex.home / "letters" / "draft").write_text("Dear")
    done = dex("cluster", "dev", "--data-dir", "letters")
    assert done.code == 1
    assert "letters has files that are not of `dex cluster dev`; choose an empty or a new --data-dir" in done.err
    assert [path.name for path in (dex.home / "letters").iterdir()] == ["draft"]


@pytest.mark.spec("K-09")
@pytest.mark.parametrize("arguments", [["status"], ["drain", "node-1"], ["snapshot"]])
def test_where_there_is_no_cluster_the_message_says_what_to_do(dex: Dex, arguments: list[str]) -> None:
    """Nothing else is written."""
    done = dex("cluster", *arguments)
    assert done.code == 1
    assert done.out == b""
    assert "this is no node of a cluster; name one with --endpoint" in done.err


@pytest.mark.spec("K-01", "K-05")
def test_a_node_that_cannot_apply_a_partition_is_stopped_in_order_and_says_all_as_json(dex: Dex) -> None:
    """It does not even try to own that one: nothing would come of it for as long as a command may take."""
    with running_servers() as servers:
        for number in range(2):
            node = ServeProcess(dex.home, "--node", "a", environ={"DEX_CLUSTER": ",".join(servers.urls)})
            try:
                node.wait_until_ready()
                _wait_until_said(node, "partition 1 is owned by this node")
                if number == 0:
                    _publish(servers, "dex.journal.0", Message(at=1, records=b"\x81\xa7command\xa6future"))
                _wait_until_said(node, "this node does not go on with dex-journal-0")
                node.process.send_signal(signal.SIGTERM)
                assert node.process.wait(_PATIENCE) == 0
            finally:
                node.process.kill()
                node.process.wait(_PATIENCE)
            assert any(line["message"] == "partition 1 is not owned by this node any more" for line in node.lines)


def _publish(servers: JournalServers, subject: str, message: Message) -> None:
    link = Link(servers.urls, "somebody")
    link.open()
    link.call(link.js.publish(subject, msgspec.msgpack.encode(message), headers={"Nats-Msg-Id": "newer"}), _PATIENCE)
    link.close()


def _wait_until_said(node: ServeProcess, text: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while text not in node.text:
        assert time.monotonic() < deadline, node.text
        time.sleep(0.02)
