"""The sample scripts are WCL."""

from pathlib import Path

import pytest

from dex.wcl.parser import parse

SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*.wcl"))


@pytest.mark.spec("W-01", "W-02", "W-11")
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_parses(path: Path) -> None:
    assert parse(path.read_text(encoding="utf-8"))


@pytest.mark.spec("W-05")
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_can_be_run_again(path: Path) -> None:
    """Every DEFINE has IF NOT EXISTS, every DROP has IF EXISTS."""
    for parsed in parse(path.read_text(encoding="utf-8")):
        for flag in ("if_not_exists", "if_exists"):
            assert getattr(parsed.command, flag, True)
