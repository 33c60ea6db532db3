"""WCL: from text to typed commands, the reference being Lark alone on the same grammar."""

from collections.abc import Iterator

from dex.wcl.generate import build, grammar_text
from dex.wcl.parser import parse
from tests.bench.harness import Line, Run, interleave, seconds, speeds


def parsing(run: Run) -> Iterator[Line]:
    """Parse a script of DEFINE statements."""
    count = run.size(5000, 50)
    script = "".join(
        f"DEFINE STATESTORE accounts.employees_{number} KEYS department, passport UNIQUE;\n" for number in range(count)
    )
    alone = build(grammar_text())
    measured = interleave(
        lambda _: seconds(lambda: parse(script)), lambda _: seconds(lambda: alone.parse(script)), run.pairs()
    )
    yield speeds("WCL statements, Lark alone", count, measured, None)


BENCHES = {"wcl": parsing}
