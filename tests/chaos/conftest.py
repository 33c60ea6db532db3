"""Fixtures of the chaos tests: real processes on real files, told by rounds how long to go on.

A few rounds run with every test run; DEX_CHAOS_ROUNDS makes a long run of it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.directories import fast_directory


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with fast_directory() as path:
        yield path / "data"


def rounds(usual: int) -> int:
    """Give how often to do something that differs from time to time."""
    return int(os.environ.get("DEX_CHAOS_ROUNDS", usual))


LONG = "DEX_CHAOS_ROUNDS" in os.environ
