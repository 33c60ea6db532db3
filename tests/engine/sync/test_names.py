"""Names: columns from Attributes, Flow IDs into key columns, tables as the configuration writes them."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dex.engine.sync.naming import snake_case
from dex.engine.sync.rowkey import RowKey
from dex.engine.sync.tablename import TableName, parse_table_name
from dex.wcl.errors import InputError


@pytest.mark.spec("Y-09")
@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("DeploymentURL", "deployment_url"),
        ("URLPath", "url_path"),
        ("S3Bucket", "s3_bucket"),
        ("Total", "total"),
        ("total", "total"),
        ("totalAmount", "total_amount"),
        ("HTTPServerID2X", "http_server_id2_x"),
        ("already_snake_case", "already_snake_case"),
        ("With_Under", "with_under"),
        ("ABC", "abc"),
        ("ABc", "a_bc"),
        ("aB", "a_b"),
        ("A", "a"),
        ("Item2", "item2"),
        ("ÜberÄrger", "über_ärger"),
        ("Items/aB", "items/a_b"),
        ("", ""),
    ],
)
def test_snake_case(name: str, column: str) -> None:
    assert snake_case(name) == column


IDENTIFIERS = st.from_regex(r"[A-Za-z][A-Za-z0-9]*", fullmatch=True)


@pytest.mark.spec("Y-09")
@settings(max_examples=100, deadline=None, database=None)
@given(IDENTIFIERS)
def test_snake_case_keeps_the_letters_and_their_order(name: str) -> None:
    """Only underscores are added, and doing it again changes nothing."""
    column = snake_case(name)
    assert column.replace("_", "") == name.lower()
    assert snake_case(column) == column
    assert "__" not in column
    assert not column.startswith("_")


@pytest.mark.spec("Y-09")
@settings(max_examples=100, deadline=None, database=None)
@given(IDENTIFIERS)
def test_snake_case_parts_words_where_the_rule_says(name: str) -> None:
    """An underscore is before an upper-case letter after a lower-case one or digit, or that ends an acronym."""
    expected = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    assert snake_case(name) == expected


@pytest.mark.spec("Y-08")
@pytest.mark.parametrize(
    ("template", "flow_id", "captured"),
    [
        ("order-{customer_id}-{order_id}", "order-c1-o-7", {"customer_id": "c1", "order_id": "o-7"}),
        ("order-{order_id}", "order-7", {"order_id": "7"}),
        ("{id}", "any thing", {"id": "any thing"}),
        ("onboarding-{id}-{*}", "onboarding-7-2024-x", {"id": "7"}),
        ("{*}/{id}", "a/b/c", {"id": "b/c"}),
        ("{a}--{b}", "x-y--z", {"a": "x-y", "b": "z"}),
        ("{a} = {b};", "1 = 2;", {"a": "1", "b": "2"}),
        ("{Ünï code}:{b}", "ä:ö", {"Ünï code": "ä", "b": "ö"}),
        ("order-{order_id}", "Order-7", None),
        ("order-{order_id}", "order-", None),
        ("order-{order_id}", "x-order-7", None),
        ("{a}-{b}", "-b", None),
        ("{a}-{b}", "a-", None),
        ("{a}-{b}", "ab", None),
        ("{a}-{*}", "a-", None),
        ("{a}-end", "a-endx", None),
        ("{a}-end", "a", None),
    ],
)
def test_a_row_key_splits_flow_ids(template: str, flow_id: str, captured: dict[str, str] | None) -> None:
    """Each placeholder takes up to the next text, the last the rest, and none takes nothing."""
    assert RowKey(template).split(flow_id) == captured


@pytest.mark.spec("Y-08")
@settings(max_examples=100, deadline=None, database=None)
@given(st.lists(st.text(min_size=1), min_size=1, max_size=4), st.text(min_size=1, alphabet="-:/"))
def test_what_a_row_key_joins_it_splits(values: list[str], separator: str) -> None:
    """As long as only the last value has the separator in it."""
    joined = separator.join(values)
    assume(joined.count(separator) == len(values) - 1 + values[-1].count(separator))
    # A value that ends in part of a separator would move the border.
    assume(not any(set(value) & set(separator) for value in values[:-1]))
    columns = [f"c{at}" for at in range(len(values))]
    template = "id=" + separator.join(f"{{{column}}}" for column in columns)
    assert RowKey(template).split(f"id={joined}") == dict(zip(columns, values, strict=True))


@pytest.mark.spec("Y-08")
@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{a}{b}", "no text between {a} and {b}"),
        ("{a}{*}", "no text between {a} and {*}"),
        ("order-{}", "a placeholder without a name"),
        ("order-{ }", "a placeholder without a name"),
        ("order-{a", "a { without its pair"),
        ("order-a}", "a } without its pair"),
        ("order-{{a}}", "a { without its pair"),
        ("{a}-{a}", "names the column 'a' twice"),
        ("order-{*}", "names no column"),
        ("order", "names no column"),
    ],
)
def test_a_row_key_that_cannot_work_is_refused(template: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        RowKey(template)
    assert problem in str(caught.value)
    assert repr(template) in str(caught.value)


@pytest.mark.spec("Y-02")
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("orders", TableName(None, "orders")),
        ("public.orders", TableName("public", "orders")),
        ("Public.Order Items", TableName("Public", "Order Items")),
        ('"a.b"."c""d"', TableName("a.b", 'c"d')),
        ('sales."Order.s"', TableName("sales", "Order.s")),
    ],
)
def test_table_names_are_taken_as_written(text: str, name: TableName) -> None:
    """Quotes are for dots and quotes; the name reads back."""
    assert parse_table_name(text) == name
    assert parse_table_name(str(name)) == name


@pytest.mark.spec("Y-01")
@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a.b.c", '"a', 'a"b', '"a"b', '""', " ", "a. ", "a\0b"])
def test_other_texts_are_no_table_names(text: str) -> None:
    with pytest.raises(InputError, match="is not a table name"):
        parse_table_name(text)
