"""The PostgreSQL server of the demo, where it does not come up."""

import pytest

from dex.samples.demo_postgres import server_in
from tests.directories import fast_directory


def test_a_server_that_ends_at_its_start_says_why() -> None:
    """Its log is the error; nothing is left to stop."""
    with (
        fast_directory() as folder,
        pytest.raises(RuntimeError, match="no_such_setting"),
        server_in(folder, ("no_such_setting=1",)),
    ):
        raise AssertionError("it has started")
