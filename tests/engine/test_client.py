"""The client's two doors: WCL and typed commands; everything else is a convenience over them."""

import pytest

from dex.wcl.commands import DescribeStateStore, PutRow, StoreRow
from dex.wcl.errors import InputError, Refused, WclSyntaxError

E = "DEFINE STATESTORE accounts.employees KEYS department, passport UNIQUE;"


@pytest.mark.spec("W-09", "W-01", "W-03")
def test_wcl_runs_statements_in_order_and_says_what_each_did(client):
    results = client.wcl(
        f"{E} {E} SHOW STATESTORES; DESCRIBE STATESTORE accounts.employees; DROP STATESTORE accounts.employees"
    )
    assert [(result.command, result.status) for result in results] == [
        ("define_state_store", "created"),
        ("define_state_store", "unchanged"),
        ("show_state_stores", "ok"),
        ("describe_state_store", "ok"),
        ("drop_state_store", "dropped"),
    ]
    assert results[2].result[0].name == "accounts.employees"
    assert [(key.name, key.unique) for key in results[3].result.keys] == [("department", False), ("passport", True)]
    assert client.state_stores.describe("accounts.employees").stage == "dropped"


@pytest.mark.spec("W-09", "W-02")
def test_wcl_defines_feed_sourced_stores(client):
    client.wcl(
        "DEFINE FEED accounts.events; DEFINE STATESTORE accounts.tagged FROM FEED accounts.events"
        " KEYS passport = METADATA 'pp' UNIQUE, department = JSON 'dept', id = RECORD_KEY"
    )
    described = client.state_stores.describe("accounts.tagged")
    assert described.source.feed == "accounts.events"
    assert [key.name for key in described.keys] == ["passport", "department", "id"]


@pytest.mark.spec("W-09", "W-06")
def test_a_syntax_error_anywhere_runs_nothing(client):
    with pytest.raises(WclSyntaxError) as caught:
        client.wcl(f"{E}\nSHOW STATESTORS")
    assert (caught.value.line, caught.value.column) == (2, 6)
    assert client.state_stores.list() == []


@pytest.mark.spec("W-09")
def test_a_statement_that_fails_stops_the_rest_and_leaves_what_was_done(client):
    with pytest.raises(Refused):
        client.wcl(f"{E} DROP STATESTORE no.such; DEFINE STATESTORE later")
    assert [store.name for store in client.state_stores.list()] == ["accounts.employees"]


@pytest.mark.spec("W-09")
def test_commands_takes_dicts_and_typed_commands(client):
    results = client.commands(
        [
            {
                "command": "define_state_store",
                "name": "accounts.employees",
                "source": {"kind": "manual"},
                "named_keys": [{"name": "passport", "unique": True}],
            },
            PutRow(store="accounts.employees", key=b"k", named={"passport": b"\xff"}),
            {"command": "get_row", "store": "accounts.employees", "key": "k"},
            {"command": "get_by", "store": "accounts.employees", "named_key": "passport", "value": {"bytes": "/w=="}},
            DescribeStateStore(name="accounts.employees"),
        ]
    )
    assert results[0].status == "created"
    assert isinstance(results[2], StoreRow)
    assert results[3].rows[0].named == {"passport": b"\xff"}
    assert results[4].rows == 1


@pytest.mark.spec("W-09", "W-10")
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"command": "put_rows"}, r"unknown command 'put_rows' at \$\[1\]; did you mean put_row\?"),
        ({"command": "get_row", "store": "s"}, r"\$\[1\]"),
        ({"command": "get_row", "store": "s", "key": 5}, "text or"),
        ({"store": "s"}, r"\$\[1\]"),
        ("SHOW STATESTORES", r"\$\[1\]"),
    ],
)
def test_what_is_no_command_is_told_with_its_place_and_nothing_runs(client, wrong, said):
    with pytest.raises((InputError, Refused), match=said):
        client.commands([{"command": "define_state_store", "name": "s"}, wrong])
    assert client.state_stores.list() == []


@pytest.mark.spec("W-09")
def test_a_command_that_holds_itself_is_refused(client):
    """It is nested without an end, which is an error in the command and none of the interpreter."""
    endless: list = []
    endless.append(endless)
    with pytest.raises(InputError, match="nested too deeply"):
        client.commands([{"command": "put_row", "store": "s", "key": "a", "named": {"k": endless}}])
