"""Values of rows and their JSON forms."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex.wcl.errors import InvalidCommand
from dex.wcl.values import (
    I64_MAX,
    I64_MIN,
    MAX_KEY_BYTES,
    MAX_NAMED_VALUE_BYTES,
    MAX_PAYLOAD_BYTES,
    blob_from_json,
    blob_to_json,
    check_key,
    check_payload,
    check_value,
    to_bytes,
    value_from_json,
    value_to_json,
)

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(I64_MIN, I64_MAX),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.binary(max_size=20),
)
values = st.one_of(scalars, st.lists(scalars, min_size=1, max_size=4))


def typed(value: object) -> object:
    """A value with its types, as True == 1 for Python."""
    if isinstance(value, list):
        return [typed(component) for component in value]
    return type(value), value


@pytest.mark.spec("S-03", "S-04")
@given(values)
def test_a_named_value_keeps_its_type_through_json(value: object) -> None:
    check_value(value, "k")
    encoded = msgspec.json.encode(value_to_json(value))
    assert typed(value_from_json(msgspec.json.decode(encoded))) == typed(value)


@pytest.mark.spec("S-03")
def test_one_true_text_and_bytes_have_four_forms() -> None:
    forms = [msgspec.json.encode(value_to_json(value)) for value in (1, True, "1", b"1")]
    assert forms == [b"1", b"true", b'"1"', b'{"bytes":"MQ=="}']


@pytest.mark.spec("S-02", "X-02")
@given(st.binary(max_size=40) | st.text(st.characters(exclude_categories=["Cs"])).map(str.encode))
def test_a_key_or_payload_is_lossless_in_json(blob: bytes) -> None:
    data = blob_to_json(blob)
    assert blob_from_json(msgspec.json.decode(msgspec.json.encode(data))) == blob
    assert isinstance(data, str) or set(data) == {"bytes"}


@pytest.mark.spec("S-03")
@pytest.mark.parametrize(
    "value",
    [I64_MIN - 1, I64_MAX + 1, 10**40, 1.5, 1.0, math.inf, math.nan, {"a": 1}, object(), [], [[1]], [1.5], ["\ud800"]],
)
def test_what_a_named_key_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(InvalidCommand, match="named key 'age'"):
        check_value(value, "age")


@pytest.mark.spec("S-03")
def test_the_bounds_of_an_integer_are_in() -> None:
    check_value(I64_MIN, "k")
    check_value(I64_MAX, "k")


@pytest.mark.spec("S-02", "S-03")
@pytest.mark.parametrize(
    ("check", "limit"),
    [
        (check_key, MAX_KEY_BYTES),
        (check_payload, MAX_PAYLOAD_BYTES),
        (lambda value: check_value(value, "k"), MAX_NAMED_VALUE_BYTES),
        (lambda value: check_value([value, b""], "k"), MAX_NAMED_VALUE_BYTES),
    ],
)
def test_limits_are_in_the_message(check: object, limit: int) -> None:
    assert callable(check)
    check(b"x" * limit)
    with pytest.raises(InvalidCommand, match=f"{limit + 1} bytes, and {limit} is the limit"):
        check(b"x" * (limit + 1))


@pytest.mark.spec("S-02")
def test_keys_and_payloads_are_bytes_or_text() -> None:
    assert to_bytes(b"a\0b", "key") == b"a\0b"
    assert to_bytes("é", "key") == "é".encode()
    assert to_bytes(bytearray(b"x"), "key") == b"x"
    assert to_bytes(memoryview(b"x"), "key") == b"x"
    for wrong in (1, None, ["a"], "\ud800"):
        with pytest.raises(InvalidCommand):
            to_bytes(wrong, "key")
    with pytest.raises(InvalidCommand, match="empty"):
        check_key(b"")


@pytest.mark.spec("S-02")
@pytest.mark.parametrize("data", [1, None, [], {}, {"bytes": 1}, {"bytes": "a"}, {"bytes": "!"}, {"bytes": "", "x": 1}])
def test_what_is_no_blob_is_refused(data: object) -> None:
    with pytest.raises(InvalidCommand):
        blob_from_json(data)
