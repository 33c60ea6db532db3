"""`dex subscriber` over processes (spec: C-01, C-02)."""

import json

import pytest

from tests.acceptance.conftest import Dex


@pytest.fixture
def subscribers(dex: Dex) -> Dex:
    """`dex` with the list started."""
    dex.ok("subscriber", "start")
    return dex


def register(dex: Dex, count: int) -> None:
    """Register many in one process, by typed commands."""
    commands = [
        {
            "command": "invoke_rpc",
            "flow_id": "chunked-subscribers",
            "rpc": "RegisterSubscriber",
            "input": {"subscriberId": f"s{number}", "deliveryAddress": f"s{number}@example.test"},
        }
        for number in range(1, count + 1)
    ]
    answers = dex.ok("command", "-", input=json.dumps(commands)).json
    assert [answer["output"]["sequence"] for answer in answers] == list(range(1, count + 1))


@pytest.mark.spec("C-01", "C-05", "C-06")
def test_a_thousand_subscribers_fill_ten_chunks(subscribers: Dex) -> None:
    """The archives have the names of their first sequences; lines and rows come out in every form."""
    register(subscribers, 1000)
    stored = subscribers.ok("flow", "get", "chunked-subscribers").json["attributes"]
    archives = [f"SubscriberChunks/{first:020}" for first in range(1, 901, 100)]
    assert list(stored) == ["SubscriberArchiveState", *archives, "SubscriberChunks/current"]
    assert stored["SubscriberArchiveState"] == {"nextSequence": 1001, "newestArchivedToken": f"{801:020}"}
    lines = subscribers.ok("subscriber", "list", "--all", "-o", "ndjson").lines
    assert [one["subscriberId"] for one in lines] == [f"s{number}" for number in range(1000, 0, -1)]
    rows = subscribers.ok("subscriber", "list", "--limit", "2", "-o", "csv").text.splitlines()
    assert rows == [
        "sequence,subscriberId,deliveryAddress",
        "1000,s1000,s1000@example.test",
        "999,s999,s999@example.test",
    ]
    oldest = subscribers.ok("subscriber", "page", f"{1:020}").json
    assert (len(oldest["subscribers"]), oldest["nextPageToken"]) == (100, None)


@pytest.mark.spec("C-02")
def test_processes_that_register_at_once_lose_no_sequence(subscribers: Dex) -> None:
    started = [subscribers.start("subscriber", "register", f"s{number}", "a@example.test") for number in range(5)]
    answers = [json.loads(process.communicate(timeout=60)[0]) for process in started]
    assert sorted(answer["sequence"] for answer in answers) == [1, 2, 3, 4, 5]
    assert len(subscribers.ok("subscriber", "list").json) == 5
