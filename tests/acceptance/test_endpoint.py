"""Every command works the same on the embedded engine and on a server: exit code, result and error."""

import json
import re
import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.acceptance.conftest import Dex, Done
from tests.directories import fast_directory
from tests.serveprocess import serving_process

FLOWS = Path(__file__).parents[2] / "samples" / "order_flow.py"

# What differs from run to run, or says who answered. A write by --endpoint carries an id of its own, and what became
# of an id is journaled: positions after a refused one differ.
VOLATILE = {
    "run_id",
    "message_ids",
    "message_id",
    "page_token",
    "next_page_token",
    "served_by",
    "seconds",
    "at",
    "seq",
    "applied_seq",
    "committed_seq",
    "pinned_seq",
}

# Lines of one script are run in order on one target; what follows ` <<< ` is standard input.
SCRIPTS = {
    "stores": r"""
        store list
        store define s.emp --key dept --key passport:unique
        store define s.emp --key other
        store put s.emp user-1 '{"name": "Ann"}' --named passport=P1 --named dept=eng
        store put s.emp user-2 @payload --named dept:='["a", 1, true, null]'
        store put s.emp user-3 x --named passport=P1
        store put s.emp user-3 x --named unknown=1
        store put s.emp user-3 x --named dept:=1.5
        store put s.emp '' x
        store put s.emp 'a/b c%2F?#é' slash --named dept=q/ü --named passport:=9007199254740993
        store put s.emp once x --mutation-id m-1
        store put s.emp once x --mutation-id m-1
        store put s.emp once y --mutation-id m-1
        store put nowhere k v
        store get s.emp user-1
        store get s.emp user-1 --raw
        store get s.emp 'a/b c%2F?#é' --strict --wait-ms 1000
        store get s.emp nobody
        store get-by s.emp dept ':=["a", 1, true, null]'
        store get-by s.emp passport :=9007199254740993
        store get-by s.emp passport 9007199254740993
        store get-by s.emp unknown x
        store page s.emp --limit 2
        store page s.emp --limit 2 --after user-1
        store page s.emp --limit 0
        store iterate s.emp --limit 3
        store iterate s.emp -o csv
        store export s.emp rows.ndjson
        store export s.emp rows.csv
        store define s.copy --key dept --key passport:unique
        store import s.copy rows.ndjson
        store import s.copy rows.csv
        store import s.copy - <<< {"key": "k1", "named": {"passport": "P1"}}\n{"key": \n{"key": "k2"}
        store iterate s.copy
        store describe s.copy
        store delete s.copy k2
        store delete s.copy k2
        store clear s.copy
        store clear s.copy --yes
        store rebuild s.copy
        store drop s.copy --yes
        store get s.copy k1
    """,
    "feeds": r"""
        feed define f.log
        feed append f.log k1 '{"a": {"b": 3}}' --metadata pp=P1
        feed append f.log k2 @payload
        feed append nowhere k v
        feed import f.log - <<< {"key": "i1", "payload": "x", "metadata": {"pp": "P2"}}\nnonsense
        feed page f.log --limit 2
        feed page f.log --after 2
        feed export f.log
        feed tail f.log --after 0 -n 3
        store define f.tagged --from-feed f.log --key pp:unique=metadata:pp --key level=json:a.b
        store get-by f.tagged level :=3
        store put f.tagged k v
        feed append f.log k3 '{"a": {"b": 4}}'
        store get-by f.tagged level :=4 --strict
        store rebuild f.tagged --yes
        store describe f.tagged
        feed describe f.log
        feed drop f.log --yes
        store drop f.tagged --yes
        feed drop f.log --yes
        feed list
    """,
    "flows": r"""
        flow types
        flow start OrderFlow o-1 --input '{"orderId": "o1", "cents": 900}' --request-id r-1
        flow start OrderFlow o-1 --input '{"orderId": "o1", "cents": 900}' --request-id r-1
        flow start OrderFlow o-1 --input '{"orderId": "o1", "cents": 900}'
        flow start OrderFlow o-2 --input '{"orderId": "o2"}'
        flow start NoFlow o-2
        flow wait-attribute o-1 Status open
        flow wait-attribute o-1 Status shut --wait 100ms
        flow describe o-1
        flow get o-1
        flow get o-1 Unknown
        flow set o-1 Status=packed
        flow set o-1 Unknown=1
        flow publish o-1 Payments '"text"'
        flow publish o-1 Unknown 1
        flow search --attr Status=packed
        flow search --page-token garbage
        flow wait o-1 --wait 100ms
        flow publish o-1 Payments 400 500
        flow wait o-1
        flow wait-step o-1 Ship-1
        flow state o-1
        flow watch o-1
        flow invoke o-1 cancel --input '"late"'
        flow start OrderFlow o-3 --input '{"orderId": "o3", "cents": 1}'
        flow invoke o-3 unknown
        flow invoke o-3 cancel --input '"changed my mind"'
        flow wait o-3
        flow stop o-3 --run-id nowhere --type cancel
        flow time-travel o-3 --run-id nowhere --to beginning --reason why
        flow purge o-3 --run-id nowhere --yes
        flow history nowhere
        flow messages o-1 Payments
    """,
    "patterns": r"""
        profile get ann@example.test
        profile start
        profile start
        profile upsert ' Ann@Example.test ' --name 'Ann Ü' --company C --tier gold
        profile get ANN@example.test
        profile get nobody@example.test
        profile get é@example.test
        profile import - --format csv <<< emailAddress,fullName,companyName,customerTier\nb@x.test,B,C,t\n,B,C,t
        profile get b@x.test
        subscriber page
        subscriber start
        subscriber register s-1 s-1@example.test
        subscriber register s-2 s-2@example.test
        subscriber register '' ''
        subscriber page
        subscriber page nonsense
        subscriber page 00000000000000000101
        subscriber list --limit 1
        subscriber list --limit 0
    """,
    "doors": r"""
        wcl 'DEFINE STATESTORE d.x KEYS a, b UNIQUE; SHOW STATESTORES'
        wcl 'SHOW FEEDS; SELECT'
        wcl 'DESCRIBE STATESTORE nowhere'
        batch - <<< DEFINE STATESTORE d.y KEYS a; DESCRIBE STATESTORE nowhere;\nSHOW FEEDS;
        batch - --continue-on-error <<< DESCRIBE STATESTORE nowhere;\nSHOW FEEDS;
        batch - --yes <<< DROP STATESTORE d.y;
        command '{"command": "put_row", "store": "d.x", "key": {"bytes": "/w=="}, "payload": {"bytes": "/w=="}}'
        command '[{"command": "show_feeds"}, {"command": "get_row", "store": "nowhere", "key": "k"}]'
        command '[{"command": "show_feeds"}, {"command": "unknown"}]'
        command '[]'
        shell <<< store put d.x k v\nstore get d.x k\nSHOW FEEDS;\nnonsense here
        sync backlog --fail-over 1s
        sync drops
        sync stores
        smoke
        cluster status
        store get d.x k --timeout nonsense
    """,
}


class Ended(NamedTuple):
    """How a line ended, without what differs from run to run."""

    code: int
    out: Any
    err: Any


def plain(value: Any) -> Any:
    """Give a value without what differs from run to run."""
    if isinstance(value, dict):
        return {
            name: "…" if value_ is not None and (name in VOLATILE or name.endswith("_at")) else plain(value_)
            for name, value_ in value.items()
        }
    if isinstance(value, list):
        return [plain(item) for item in value]
    return re.sub(r"[0-9a-f]{32}", "…", value) if isinstance(value, str) else value


def read(text: str) -> list[Any]:
    """Give the lines of a text: what they are as JSON, else the text."""
    lines: list[Any] = []
    for line in text.splitlines():
        try:
            lines.append(plain(json.loads(line)))
        except ValueError:
            lines.append(plain(line))
    return lines


def run(dex: Dex, line: str) -> Ended:
    """Run a line of a script."""
    command, _, given = line.partition(" <<< ")
    done: Done = dex(*shlex.split(command), input=given.replace("\\n", "\n"))
    return Ended(done.code, read(done.out.decode()), read(done.err))


@pytest.fixture
def targets() -> Iterator[tuple[Dex, Dex]]:
    """`dex` on a data directory, and `dex` on a server of another one."""
    with fast_directory() as home, serving_process(home, "--flows", FLOWS) as server:
        told = {"DEX_DATA_DIR": "embedded"}, {"DEX_ENDPOINT": server.url}
        pair = Dex(home / "embedded"), Dex(home / "remote")
        for dex, target in zip(pair, told, strict=True):
            dex.home.mkdir()
            dex.home.joinpath("payload").write_bytes(b"\xff\x00 bytes")
            dex.environ.update(target, DEX_OUTPUT="json", DEX_FLOWS=str(FLOWS))
        yield pair


@pytest.mark.spec("X-01", "X-03", "K-01")
@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_a_command_does_the_same_embedded_and_by_endpoint(targets: tuple[Dex, Dex], script: str) -> None:
    """Each line ends with the same code, and tells the same."""
    differing: list[tuple[str, Ended, Ended]] = []
    with ThreadPoolExecutor(2) as both:
        for line in filter(None, map(str.strip, script.splitlines())):
            embedded, remote = both.map(run, targets, [line, line])
            if embedded != remote:
                differing.append((line, embedded, remote))
    assert differing == []
