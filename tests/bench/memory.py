"""Peak memory of a process of its own that imports, or iterates, a great many rows."""

import resource
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from dex.engine.client import connect
from tests.bench.harness import Goal, Line, Pair, Run, costs
from tests.bench.sample import STORE, define, fill

_LIMIT_MIB = 150
_STATUS = Path("/proc/self/status")


def memory(run: Run) -> Iterator[Line]:
    """Import rows in batches, then iterate them all."""
    count = run.size(1_000_000, 1000)
    yield _line(run, "memory of importing", "import", count)
    yield _line(run, "memory of iterating", "iterate", count)


def _line(run: Run, name: str, work: str, count: int) -> Line:
    """Make the line of one process; its peak hardly varies, so that one is enough."""
    peak = _child(run.folder, work, count)
    return costs(f"{name} {count:,} rows", "MiB", [Pair(peak, _LIMIT_MIB)], Goal("≤", 1))


def _child(folder: Path, work: str, count: int) -> float:
    command = [sys.executable, "-m", "tests.bench.memory", str(folder), work, str(count)]
    root = Path(__file__).parents[2]
    return float(subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout)


def _work(folder: str, work: str, count: int) -> None:
    with connect(folder) as client:
        if work == "import":
            define(client)
            fill(client, count, batch=1000)
        else:
            deque(client.state_store(STORE).iterate(), maxlen=0)


def peak_mib() -> float:
    """Give this process's peak resident memory.

    Where there is /proc it is read from there, because the peak that getrusage gives may be that of the parent
    at the time of the fork.
    """
    if _STATUS.exists():
        peak = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(peak.split()[1]) / 1024
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


BENCHES = {"memory": memory}

if __name__ == "__main__":
    _work(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    sys.stdout.write(f"{peak_mib()}\n")
