"""The benchmarks run; what they measure is no test."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_EMBEDDED = {"put-100": ["put, 100 B"], "iterate": ["iterate"], "wcl": ["WCL statements, Lark alone"]}
_CLUSTER = {
    "cluster-http-puts": [f"cluster HTTP put, {many} at once, as many bare publishes" for many in (1, 64)],
    "cluster-rpc": ["cluster locked RPC, a bare publish"],
    "cluster-catch-up": [
        "a wiped node applies 500 rows, bare consumer",
        "a wiped node has their snapshot, bare consumer",
    ],
    "cluster-owner": [f"cluster RPC, owner {end}, the limit" for end in ("killed", "drained")],
}


@pytest.mark.parametrize("expected", [_EMBEDDED, _CLUSTER], ids=["embedded", "cluster"])
def test_a_quick_run_prints_each_line_and_writes_it_as_json(tmp_path: Path, expected: dict[str, list[str]]) -> None:
    """`--quick --only` measures the named lines, and the JSON holds what the table shows."""
    file = tmp_path / "results" / "bench.json"
    command = [sys.executable, "-m", "tests.bench", "--quick", "--json", str(file), "--only", *expected]
    wide = {**os.environ, "COLUMNS": "200"}  # else a name may go over two lines of the table
    done = subprocess.run(command, cwd=ROOT, env=wide, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = json.loads(file.read_text())["lines"]
    assert [line["name"] for line in lines] == [name for names in expected.values() for name in names]
    for line in lines:
        assert line["name"] in done.stdout
        assert line["low"] <= line["ratio"] <= line["high"]
    assert list(file.parent.iterdir()) == [file], "the files of the benchmarks are gone"
