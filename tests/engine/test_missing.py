"""Reading a data directory that is not there: it is empty, and stays not there."""

from pathlib import Path

import pytest

from dex.engine.local import LocalEngine
from dex.wcl.commands import DescribeFeed, GetRow, PageRows, ShowFeeds, ShowStateStores
from dex.wcl.commands.flows import DescribeFlow, SearchFlows
from dex.wcl.errors import FlowNotFoundError, Refused


@pytest.fixture
def engine(tmp_path: Path):
    opened = LocalEngine(tmp_path / "typo" / "data")
    yield opened
    opened.close()
    assert not (tmp_path / "typo").exists()


@pytest.mark.spec("W-03", "S-18")
def test_a_list_is_empty(engine):
    assert engine.execute(ShowStateStores()) == []
    assert engine.execute(ShowFeeds()) == []
    assert engine.execute(SearchFlows()).flows == []


@pytest.mark.spec("S-17", "S-18")
@pytest.mark.parametrize(
    "command",
    [GetRow(store="a.b", key=b"k"), PageRows(store="a.b"), DescribeFeed(name="f")],
    ids=lambda c: type(c).__name__,
)
def test_a_name_is_unknown(engine, command):
    with pytest.raises(Refused, match="there is no"):
        engine.execute(command)


@pytest.mark.spec("FL-12")
def test_a_flow_is_unknown(engine):
    with pytest.raises(FlowNotFoundError):
        engine.execute(DescribeFlow(flow_id="x"))
