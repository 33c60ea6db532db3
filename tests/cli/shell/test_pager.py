"""When a pager is used, and which."""

import shutil

import pytest

from dex.cli.shell.pager import fits, pager_command
from dex.wcl.errors import InputError


@pytest.mark.spec("P-01")
@pytest.mark.parametrize(
    ("pager", "command"),
    [
        ("more -d", ["more", "-d"]),
        ("more -n '5 0'", ["more", "-n", "5 0"]),
        ("cat", None),
        ("", None),
    ],
)
def test_pager_is_split_as_a_shell_would(pager: str, command: list[str] | None) -> None:
    assert pager_command({"PAGER": pager}) == command


@pytest.mark.spec("P-01")
def test_without_pager_it_is_less_where_there_is_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: "/bin/less")
    assert pager_command({}) == ["less", "-FRX"]
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    assert pager_command({}) is None


@pytest.mark.spec("P-01")
@pytest.mark.parametrize("pager", ["no-such-pager -x", "less 'x"])
def test_a_pager_that_cannot_run_is_an_error_that_names_it(pager: str) -> None:
    with pytest.raises(InputError, match=r"no-such-pager|less 'x"):
        pager_command({"PAGER": pager})


@pytest.mark.spec("P-01")
@pytest.mark.parametrize(
    ("text", "result"),
    [
        (b"", True),
        (b"x\n" * 9, True),
        (b"x\n" * 10, False),
        (b"x" * 20 * 9, True),
        (b"x" * 20 * 9 + b"x", False),
        ("é".encode() * 20 * 9, True),
        (b"\x1b[31m" + b"x" * 20 + b"\x1b[0m\n", True),
        (b"\xff\n", True),
    ],
)
def test_what_fits_leaves_a_line_for_the_prompt(text: bytes, result: bool) -> None:
    """On a screen of ten lines of twenty cells nine lines fit; wrapped lines count, colours do not."""
    assert fits(text, 20, 10) == result
