"""The benchmarks run; what they measure is no test."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_quick_run_prints_each_line_and_writes_it_as_json(tmp_path: Path) -> None:
    """`--quick --only` measures the named lines, and the JSON holds what the table shows."""
    file = tmp_path / "results" / "bench.json"
    command = [
        sys.executable,
        "-m",
        "tests.bench",
        "--quick",
        "--json",
        str(file),
        "--only",
        "put-100",
        "iterate",
        "wcl",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = json.loads(file.read_text())["lines"]
    assert [line["name"] for line in lines] == ["put, 100 B", "iterate", "WCL statements, Lark alone"]
    for line in lines:
        assert line["name"] in done.stdout
        assert line["low"] <= line["ratio"] <= line["high"]
    assert list(file.parent.iterdir()) == [file], "the files of the benchmarks are gone"
