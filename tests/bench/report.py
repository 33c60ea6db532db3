"""The one table, and the same as JSON."""

import os
import platform
import sqlite3
import sys
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from tests.bench.harness import Line


def show(lines: list[Line]) -> None:
    """Print the table on standard output."""
    table = Table("name", "unit")
    for title in ("ours", "reference", "ratio", "min-max", "target", "met?"):
        table.add_column(title, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(
            line.name,
            line.unit,
            _number(line.ours),
            _number(line.reference),
            f"{line.ratio:.2f}",
            f"{line.low:.2f}-{line.high:.2f}",
            "" if line.goal is None else f"{line.goal.sense} {line.goal.bound:g}",
            {None: "", True: "yes", False: "NO"}[line.met],
        )
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def save(lines: list[Line], path: Path, *, quick: bool) -> None:
    """Write the lines with what one needs to know of the machine."""
    path.parent.mkdir(parents=True, exist_ok=True)
    facts = {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": platform.system(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "quick": quick,
        "lines": [{**msgspec.structs.asdict(line), "met": line.met} for line in lines],
    }
    path.write_bytes(msgspec.json.format(msgspec.json.encode(facts), indent=2) + b"\n")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
