"""`dex context add` refuses what could not be read or chosen later."""

import pytest

from tests.acceptance.conftest import Dex


@pytest.mark.spec("X-01", "X-03")
@pytest.mark.parametrize(
    ("args", "told"),
    [
        ((b"w\xff", b"timeout=1s"), "name of a context"),
        ((b"", b"timeout=1s"), "a context needs a name"),
        ((b"w", b"data-dir=/x\xff"), "value of data-dir"),
        ((b"w", b"timeout=1s", b"timeout=2s"), "'timeout' is given twice"),
    ],
)
def test_a_context_that_could_not_be_used_is_not_kept(dex: Dex, args: tuple[bytes, ...], told: str) -> None:
    """Nothing is written, and what was there is still listed."""
    dex.ok("context", "add", "good", "timeout=1s")
    done = dex("context", "add", *args)
    assert (done.code in (1, 2), done.out, done.err.count("\n")) == (True, b"", 1)
    assert told in done.err
    assert "bug" not in done.err
    assert [context["name"] for context in dex.ok("context", "list").json] == ["good"]
