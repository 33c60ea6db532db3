"""`dex profile` over processes (spec: H-05, H-06)."""

import signal
from pathlib import Path

import pytest

from tests.acceptance.conftest import Dex

PEOPLE = Path(__file__).parents[2] / "samples" / "people.csv"
DETAILS = ("--name", "Ann Example", "--company", "Example Ltd", "--tier", "gold")


@pytest.fixture
def directory(dex: Dex) -> Dex:
    """`dex` with the directory started."""
    dex.ok("profile", "start")
    return dex


@pytest.mark.spec("H-05")
def test_processes_that_upsert_at_once_are_all_applied(directory: Dex) -> None:
    """Four processes, one partition: a lost lock is tried again and not told."""
    started = [directory.start("profile", "upsert", "ann@example.test", *DETAILS) for _ in range(4)]
    for process in started:
        process.communicate(timeout=60)
    assert [process.returncode for process in started] == [0] * 4
    history = directory.ok("flow", "history", "customer-directory").json["events"]
    assert 2 <= len(history) <= 5


@pytest.mark.spec("H-06")
def test_an_import_that_is_interrupted_can_be_run_again(directory: Dex) -> None:
    """Ctrl-C in the middle: one line, the lock of no partition is left, and a second run completes it."""
    many = directory.home / "many.csv"
    rows = "".join(f"u{number}@example.test,N,C,t\n" for number in range(4000))
    many.write_text(f"emailAddress,fullName,companyName,customerTier\n{rows}")
    importing = directory.start("profile", "import", "many.csv")
    while not directory.ok("flow", "get", "customer-directory").json["attributes"]:
        assert importing.poll() is None
    importing.send_signal(signal.SIGINT)
    out, err = importing.communicate(timeout=30)
    assert (importing.returncode, out, err.splitlines()[-1]) == (130, b"", b"cancelled")
    assert directory.ok("profile", "import", "many.csv").json == {"read": 4000, "applied": 4000, "failed": 0}
    assert directory.ok("profile", "get", "u3999@example.test").json["fullName"] == "N"
