"""Completion of Flow ids, types, RPCs, Attributes and the rest (spec: X-06)."""

import pytest

from dex.cli.completion.answer import candidates
from dex.cli.completion.words import split_line
from tests.acceptance.conftest import Dex


@pytest.mark.spec("X-06")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("flow describe ", ["eu:s1", "t1"]),
        ("flow invoke eu:", ["eu:s1"]),
        ("flow start T", ["TripFlow"]),
        ("flow search --type Cu", ["CustomerDirectoryFlow"]),
        ("flow invoke t1 ", ["add", "note", "nothing", "wrong"]),
        ("flow invoke eu:s1 Reg", ["RegisterSubscriber"]),
        ("flow invoke eu:s1 --lock Subscriber", ["SubscriberArchiveState", "SubscriberChunks/"]),
        ("flow get t1 Count N", ["Notes/"]),
        ("flow set t1 Co", ["Count="]),
        ("flow publish t1 ", ["Inbox/", "News"]),
        ("flow wait-step t1 ", ["Leave", "Pack"]),
        ("flow wait-attribute t1 R", ["Ratio"]),
        ("flow invoke nowhere ", []),
        ("flow stop t1 --type ", ["cancel", "fail", "terminate"]),
        ("flow search --status c", ["completed", "canceled"]),
        ("flow time-travel t1 --to s", ["step:", "step-execution:"]),
        ("flow start --id-reuse d", ["default", "disallow"]),
        ("--flows ", [":file"]),
        ("profile import ", [":file"]),
    ],
)
def test_names_of_flows(trip: Dex, monkeypatch: pytest.MonkeyPatch, line: str, found: list[str]) -> None:
    """Read from the file and from the definitions that are loaded."""
    trip.ok("flow", "start", "ChunkedSubscriberFlow", "eu:s1")
    monkeypatch.chdir(trip.home)
    for name, value in trip.environ.items():
        monkeypatch.setenv(name, value)
    assert [name for name, _ in candidates(split_line(line))] == found


@pytest.mark.spec("X-06")
def test_a_run_is_offered_by_its_id(trip: Dex) -> None:
    """`--run-id` offers the runs of the Flow on the line, for a process as a shell would start it."""
    run = trip.ok("flow", "describe", "t1").json["run_id"]
    assert trip.ok("__complete", "bash", "dex flow stop t1 --run-id ").text.split() == [run]


@pytest.mark.spec("X-06", "FL-17")
def test_flow_files_print_no_candidates_and_no_errors(dex: Dex) -> None:
    """What a Flow file writes, and that it does not load, is kept from the shell; --flows on the line counts."""
    (dex.home / "loud.py").write_text(
        "import sys\nfrom dex import Flow\nprint('loud')\nsys.stderr.write('loud')\nclass Loud(Flow[None]): pass\n"
    )
    (dex.home / "bad.py").write_text("nonsense nonsense\n")
    done = dex.ok("__complete", "bash", "dex --flows loud.py --flows bad.py flow start ")
    assert (done.text.split(), done.err) == (["ChunkedSubscriberFlow", "CustomerDirectoryFlow", "Loud"], "")


@pytest.mark.spec("X-06")
def test_no_database_is_made_by_asking(dex: Dex) -> None:
    for line in ("flow describe ", "flow invoke t1 ", "flow stop t1 --run-id "):
        assert dex.ok("__complete", "bash", f"dex {line}").out == b""
    assert list(dex.home.iterdir()) == []
