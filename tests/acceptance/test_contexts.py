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


@pytest.mark.spec("X-01", "K-02")
def test_a_token_of_a_context_is_kept_and_not_shown(dex: Dex) -> None:
    """As `dex config show` hides it: a screen and a log are no place for it."""
    token = "0123456789abcdef"
    added = dex.ok("context", "add", "staging", f"token={token}", "endpoint=http://127.0.0.1:9")
    told = [added, dex.ok("context", "list"), dex.ok("context", "show", "staging")]
    assert [token in done.text for done in told] == [False] * 3
    assert all("http://127.0.0.1:9" in done.text for done in told)
    assert token in (dex.home / "config/dex/config.yaml").read_text()
