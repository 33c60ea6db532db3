"""The smoke check, whose time is over."""

from contextlib import closing

import pytest

from dex.cli.deadline import Expired
from dex.cli.smoke import run_checks
from dex.cli.smoketarget import Target
from dex.engine.flows.builtin import default_registry
from dex.engine.local import LocalEngine
from dex.wcl.commands import ShowFeeds, ShowStateStores
from dex.wcl.commands.flows import SearchFlows
from tests.directories import fast_directory


def _late(_target: Target) -> str:
    raise Expired(1.0)


@pytest.mark.spec("X-05")
def test_what_was_made_is_dropped_though_the_time_is_over() -> None:
    """The error is that of the time all the same."""
    with fast_directory() as folder, closing(LocalEngine(folder, registry=default_registry)) as engine:
        with pytest.raises(Expired) as caught:
            list(run_checks(engine, "late", [("late", _late)]))
        assert caught.value.during == "check late"
        assert engine.execute(ShowStateStores()) == []
        assert engine.execute(ShowFeeds()) == []
        assert engine.execute(SearchFlows()).flows == []
