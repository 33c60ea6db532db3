"""The bar at the bottom."""

import pytest

from dex.cli.shell.toolbar import MAX_TARGET, abbreviated, target_text, toolbar_text
from dex.wcl.commands import Freshness


@pytest.mark.spec("P-01")
@pytest.mark.parametrize(
    ("freshness", "text"),
    [
        (None, " /data | no position | emacs "),
        (Freshness(7, 7, 0, "embedded"), " /data | position 7, up to date | emacs "),
        (Freshness(5, 7, 2, "embedded"), " /data | position 7, 2 behind | emacs "),
    ],
)
def test_it_tells_target_freshness_and_mode(freshness: Freshness | None, text: str) -> None:
    assert toolbar_text("/data", freshness, "emacs", None) == text


@pytest.mark.spec("P-01")
def test_it_tells_where_results_go() -> None:
    assert toolbar_text("/data", None, "vi insert", "out.txt").endswith("| vi insert | results go to out.txt ")


@pytest.mark.spec("P-01")
@pytest.mark.parametrize(
    ("endpoint", "text"),
    [
        (None, "/data"),
        ("http://127.0.0.1:7171", "http://127.0.0.1:7171"),
        ("https://a:7171,https://b:7171,https://c:7171", "https://a:7171 and 2 more"),
    ],
)
def test_the_target_is_a_server_where_one_is_named(endpoint: str | None, text: str) -> None:
    assert target_text(endpoint, "/data") == text


@pytest.mark.spec("P-01")
@pytest.mark.parametrize(
    ("directory", "text"),
    [("/home/ann/.local/share/dex", "~/.local/share/dex"), ("/home/ann", "~"), ("/home/anna/x", "/home/anna/x")],
)
def test_the_home_is_a_tilde(directory: str, text: str) -> None:
    assert abbreviated(directory, "/home/ann") == text


@pytest.mark.spec("P-01")
def test_of_a_long_directory_the_end_is_shown() -> None:
    text = abbreviated("/" + "x" * 100 + "/data", "/home/ann")
    assert len(text) == MAX_TARGET
    assert text.startswith("…")
    assert text.endswith("/data")
