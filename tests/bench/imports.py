"""Bulk import: through the engine from rows in memory, and as a whole process from a file."""

import os
import subprocess
from collections import deque
from collections.abc import Iterator

import msgspec

from dex.engine.client import connect
from tests.bench.harness import Goal, Line, Run, interleave, seconds, speeds
from tests.bench.programs import environment, program
from tests.bench.raw import RawStore
from tests.bench.sample import STORE, Row, command, define, rows

_BATCH = 1000


def import_rows(run: Run) -> Iterator[Line]:
    """Import rows in batches of 1000, the making of the commands included."""
    several = list(rows(run.size(100_000, 2000)))

    def ours(number: int) -> float:
        with connect(run.folder / f"ours-{number}") as client:
            define(client)
            execute_many = client.engine.execute_many
            return seconds(lambda: [execute_many([command(row) for row in batch]) for batch in _batches(several)])

    def reference(number: int) -> float:
        raw = RawStore(run.folder / f"raw-{number}.db")
        try:
            return seconds(lambda: deque(map(raw.put_many, _batches(several))))
        finally:
            raw.close()

    yield speeds("import, batches of 1000", len(several), interleave(ours, reference, run.pairs()), Goal("≥", 0.5))


def import_command(run: Run) -> Iterator[Line]:
    """Import a file with `dex store import`, and with `sqlite-utils insert` into a table with the same indexes.

    The reference keeps no journal and reports nothing about single lines, so that this only informs.
    """
    count = run.size(100_000, 500)
    file = run.folder / "rows.ndjson"
    file.write_bytes(b"".join(_json(row) for row in rows(count)))
    fields = ["--key-field", "key", "--payload-field", "payload", "--named", "department=department"]
    ours_command = [program("dex"), "store", "import", STORE, str(file), *fields, "--named", "passport=passport"]

    def ours(number: int) -> float:
        folder = run.folder / f"command-{number}"
        with connect(folder) as client:
            define(client)
        variables = environment(folder)
        return seconds(lambda: subprocess.run(ours_command, env=variables, check=True, stdout=subprocess.DEVNULL))

    def reference(number: int) -> float:
        path = run.folder / f"utils-{number}.db"
        RawStore(path).close()
        command = [program("sqlite-utils"), "insert", str(path), "employees", str(file), "--nl", "--pk", "key"]
        return seconds(lambda: subprocess.run(command, env=os.environ, check=True, stdout=subprocess.DEVNULL))

    yield speeds("dex store import, sqlite-utils insert", count, interleave(ours, reference, run.pairs()), None)


def _batches(several: list[Row]) -> Iterator[list[Row]]:
    for start in range(0, len(several), _BATCH):
        yield several[start : start + _BATCH]


def _json(row: Row) -> bytes:
    record = {"key": row.key.decode(), "payload": row.payload.decode()}
    return msgspec.json.encode({**record, "department": row.department, "passport": row.passport}) + b"\n"


BENCHES = {"import": import_rows, "import-command": import_command}
