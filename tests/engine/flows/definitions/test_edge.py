"""Values as JSON at the edge."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex import ValueMappingError
from dex.engine.flows.codec import encode
from dex.engine.flows.edge import from_edge
from dex.wcl.edge import camel_case, to_edge

NOON = datetime(2024, 3, 10, 12, tzinfo=UTC)


@dataclass
class Address:
    street_name: str
    zip_code: str | None = None


@dataclass
class Person:
    email_address: str
    home: Address
    photo: bytes = b""
    born_at: datetime | None = None
    visits: int = 0
    by_place: dict[str, Address] | None = None
    pair: tuple[int, Address] | None = None


class Circle(msgspec.Struct, tag="circle"):
    line_width: int


class Square(msgspec.Struct, tag="square"):
    side_length: int


@dataclass
class Twins:
    a_b: int
    aB: int  # noqa: N815  # the clash is the test


ANN = Person(
    "ann@example.test", Address("High St"), b"\xff", NOON, 3, {"at_work": Address("Low St", "1")}, (1, Address("x"))
)
ANN_JSON = {
    "emailAddress": "ann@example.test",
    "home": {"streetName": "High St", "zipCode": None},
    "photo": {"bytes": "/w=="},
    "bornAt": "2024-03-10T12:00:00Z",
    "visits": 3,
    "byPlace": {"at_work": {"streetName": "Low St", "zipCode": "1"}},
    "pair": [1, {"streetName": "x", "zipCode": None}],
}


@pytest.mark.spec("FL-03")
def test_fields_are_camel_case_and_keys_of_dicts_stay() -> None:
    assert to_edge(ANN) == ANN_JSON


@pytest.mark.spec("FL-03")
def test_what_was_written_is_read_again() -> None:
    assert from_edge(ANN_JSON, Person) == ANN


@pytest.mark.spec("FL-03")
def test_snake_case_is_read_as_well() -> None:
    data = {"email_address": "a", "home": {"street_name": "b", "zipCode": "1"}}
    assert from_edge(data, Person) == Person("a", Address("b", "1"))


@pytest.mark.parametrize(
    ("snake", "camel"),
    [
        ("email_address", "emailAddress"),
        ("name", "name"),
        ("line_2", "line2"),
        ("_hidden_one", "_hiddenOne"),
        ("a", "a"),
    ],
)
def test_camel_case(snake: str, camel: str) -> None:
    assert camel_case(snake) == camel


def test_fields_that_would_share_a_name_keep_their_own() -> None:
    assert to_edge(Twins(1, 2)) == {"a_b": 1, "aB": 2}
    assert from_edge({"a_b": 1, "aB": 2}, Twins) == Twins(1, 2)


def test_alternatives_are_told_apart_by_their_tag() -> None:
    for shape in (Circle(2), Square(3)):
        assert from_edge(to_edge(shape), Circle | Square) == shape


@pytest.mark.parametrize(
    ("data", "path", "message", "remedy"),
    [
        ({"home": {}}, "$.home.streetName", "missing field streetName at $.home", "its fields are streetName, zipCode"),
        ({"emailAddress": "a"}, "$.home", "missing field home at $", "its fields are "),
        ({"emailAdress": "a"}, "$.emailAdress", "unknown field emailAdress at $", "did you mean emailAddress?"),
        ({"emailAddress": "a", "email_address": "b"}, "$.email_address", "a second field", "write it once"),
        ({"emailAddress": 1, "home": {"streetName": ""}}, "$.emailAddress", "int, and str is expected", "pass"),
        (
            {"emailAddress": "a", "home": {"streetName": "", "zipCode": 1}},
            "$.home.zipCode",
            "is int, and str | null is expected",
            "pass",
        ),
        ({"emailAddress": "a", "home": []}, "$.home", "is array, and object is expected", "pass"),
        ({"emailAddress": "a", "home": {"streetName": ""}, "photo": "eA=="}, "$.photo", "is not bytes", "write"),
        ({"emailAddress": "a", "home": {"streetName": ""}, "photo": {"bytes": "*"}}, "$.photo", "not base64", "encode"),
        ([], "$", "is array, and object is expected", "pass"),
        (None, "$", "is null, and object is expected", "pass"),
    ],
)
def test_wrong_json_is_refused_with_the_path_of_the_field(data: Any, path: str, message: str, remedy: str) -> None:
    with pytest.raises(ValueMappingError) as caught:
        from_edge(data, Person)
    assert caught.value.path == path
    assert message in caught.value.message
    assert caught.value.remedy.startswith(remedy)


@pytest.mark.parametrize("declared", [bytes | None, bytes | int, Any])
def test_bytes_are_read_beside_other_types(declared: Any) -> None:
    assert from_edge({"bytes": "eA=="}, declared) == b"x"


def test_text_is_never_taken_for_base64() -> None:
    with pytest.raises(ValueMappingError):
        from_edge("eA==", bytes | None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text().filter(lambda k: k != "bytes"), inner, max_size=4)
    ),
)


@given(JSON)
def test_any_json_survives_the_edge(value: Any) -> None:
    assert from_edge(to_edge(value), Any) == value


@dataclass
class _Defaulted:
    name: str
    level: int = 3
    note: str | None = None


@pytest.mark.spec("FL-03")
def test_a_field_that_is_left_out_is_stored_with_its_default():
    read = from_edge({"name": "a"}, _Defaulted)
    assert read == _Defaulted("a")
    assert msgspec.msgpack.decode(encode(read, _Defaulted)) == {"name": "a", "level": 3, "note": None}
