"""What commands may do to their target."""

from typing import get_args

import pytest

from dex.wcl.commands import GetRow, PutRow
from dex.wcl.commands.flows import InvokeRpc
from dex.wcl.scopes import _scopes, scope_of
from dex.wcl.wire import any_command, command_tags


@pytest.mark.spec("K-02")
def test_every_command_has_a_scope() -> None:
    """A command that nobody classed would be one that anybody may send."""
    assert set(_scopes()) == command_tags()
    assert len(get_args(any_command())) == len(_scopes())


@pytest.mark.spec("K-02")
def test_a_read_and_a_write_differ() -> None:
    """What changes a row is no read."""
    assert scope_of(GetRow(store="s", key=b"k")) == "read"
    assert scope_of(PutRow(store="s", key=b"k")) == "write"


@pytest.mark.spec("K-02")
def test_a_call_is_a_write_unless_it_takes_only_what_reads() -> None:
    """What an RPC does is its author's to say."""
    assert scope_of(InvokeRpc(flow_id="f", rpc="r")) == "write"
    assert scope_of(InvokeRpc(flow_id="f", rpc="r", read_only=True)) == "read"
    assert scope_of(InvokeRpc(flow_id="f", rpc="r", read_only=True, lock=["Status"])) == "write"
