"""`python -m tests.bench`: run the benchmarks, print one table and write it as JSON."""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench import (
    chunks,
    clears,
    clusterapply,
    clustercalls,
    clusterfailover,
    clustergets,
    clusterputs,
    drain,
    imports,
    lag,
    marking,
    memory,
    profiles,
    puts,
    reads,
    serving,
    start,
    steps,
    wcl,
)
from tests.bench.harness import Bench, Line, Run, Skipped
from tests.bench.report import save, show

BENCHES: dict[str, Bench] = {
    **start.BENCHES,
    **puts.BENCHES,
    **imports.BENCHES,
    **reads.BENCHES,
    **memory.BENCHES,
    **clears.BENCHES,
    **wcl.BENCHES,
    **chunks.BENCHES,
    **profiles.BENCHES,
    **steps.BENCHES,
    **marking.BENCHES,
    **drain.BENCHES,
    **lag.BENCHES,
    **serving.BENCHES,
    **clusterputs.BENCHES,
    **clustergets.BENCHES,
    **clustercalls.BENCHES,
    **clusterapply.BENCHES,
    **clusterfailover.BENCHES,
}
_RESULTS = Path(__file__).parents[2] / "bench-results" / "bench.json"


def main() -> None:
    """Run what was asked for. A goal that is missed is shown and is no failure: this machine may be busy."""
    options = _options()
    lines: list[Line] = []
    options.json.parent.mkdir(parents=True, exist_ok=True)
    for name in options.only or BENCHES:
        sys.stderr.write(f"{name} …\n")
        # Beside the results rather than in /tmp, which may be memory: writes have to reach a disk.
        with TemporaryDirectory(dir=options.json.parent) as folder:
            try:
                lines.extend(BENCHES[name](Run(Path(folder), options.quick)))
            except Skipped as reason:
                sys.stderr.write(f"{name} is skipped: {reason}\n")
    show(lines)
    save(lines, options.json, quick=options.quick)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=list(BENCHES), help=", ".join(BENCHES))
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    parser.add_argument("--json", type=Path, default=_RESULTS, metavar="FILE", help="default: %(default)s")
    return parser.parse_args()


if __name__ == "__main__":
    main()
