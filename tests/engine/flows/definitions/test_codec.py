"""Values as stored bytes."""

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any, TypedDict

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex import FlowDefinitionError, ValueMappingError
from dex.engine.flows.codec import MAX_DEPTH, check_type, decode, encode, encode_as, kind_of, type_name
from dex.wcl.edge import to_edge
from dex.wcl.values import I64_MAX, I64_MIN


class Tier(enum.StrEnum):
    GOLD = "gold"


class Point(TypedDict):
    x: int


class Seat(msgspec.Struct):
    row_number: int


@dataclass
class Person:
    full_name: str
    tier: Tier = Tier.GOLD
    seats: list[Seat] = field(default_factory=list)
    friend: "Person | None" = None


@dataclass
class Even:
    number: int

    def __post_init__(self) -> None:
        if self.number % 2:
            raise ValueError("it is odd")


@dataclass
class Parcel:
    name: str
    weights: dict[str, float] = field(default_factory=dict)
    inner: list["Even"] | None = None


@dataclass
class Account:
    owner: str
    cents: int


@dataclass
class Rated(Account):
    rate: float


NOON = datetime(2024, 3, 10, 12, tzinfo=UTC)


@pytest.mark.spec("FL-03")
@pytest.mark.parametrize(
    ("value", "declared", "kind"),
    [
        ("text", str, "string"),
        ("é" * 300, str, "string"),
        ("x" * 70_000, str, "string"),
        (0, int, "int64"),
        (-1, int, "int64"),
        (I64_MAX, int, "int64"),
        (I64_MIN, int, "int64"),
        (1.5, float, "double"),
        (True, bool, "bool"),
        (False, bool, "bool"),
        (None, int | None, "null"),
        (b"", bytes, "bytes"),
        (b"\x00\xff" * 40_000, bytes, "bytes"),
        (NOON, datetime, "datetime"),
        (NOON.replace(microsecond=1), datetime, "datetime"),
        (datetime(9000, 1, 1, tzinfo=UTC), datetime, "datetime"),
        ({}, dict, "json"),
        ({str(n): n for n in range(20)}, dict[str, int], "json"),
        ([1, "a", None, 2.5, b"x"], list[Any], "json"),
        (list(range(20)), list[int], "json"),
        (list(range(70_000)), list[int], "json"),
        (Person("Ann", seats=[Seat(7)], friend=Person("Bob")), Person, "json"),
        (Seat(1), Seat, "json"),
        (Point(x=1), Point, "json"),
        (Tier.GOLD, Tier, "string"),
    ],
)
def test_every_kind_of_value_comes_back_as_it_was(value: Any, declared: Any, kind: str) -> None:
    data = encode(value, declared)
    again = decode(data, declared)
    assert again == value
    assert type(again) is type(value)
    assert kind_of(data) == kind


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(I64_MIN, I64_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.binary()
)
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4))


@pytest.mark.spec("FL-03")
@given(TREES)
def test_any_tree_of_values_comes_back_with_its_kinds(tree: Any) -> None:
    again = decode(encode(tree))
    assert again == tree
    assert repr(again) == repr(tree)


@pytest.mark.spec("FL-03")
def test_fields_are_stored_under_their_python_names() -> None:
    assert msgspec.msgpack.decode(encode(Seat(3), Seat)) == {"row_number": 3}


@pytest.mark.spec("FL-03")
def test_an_instant_keeps_its_moment_whatever_its_zone() -> None:
    berlin = NOON.astimezone(timezone(timedelta(hours=1)))
    assert decode(encode(berlin, datetime), datetime) == NOON


@pytest.mark.spec("FL-03")
def test_a_whole_number_for_a_double_is_stored_as_a_double() -> None:
    assert kind_of(encode(3, float)) == "double"
    assert kind_of(encode(3, float | None)) == "double"
    assert kind_of(encode(3, int | float)) == "int64"


@pytest.mark.spec("FL-03")
@pytest.mark.parametrize(
    ("value", "declared", "path", "expected"),
    [
        ("1", int, "$", "int"),
        (1, list[float], "$", "array"),
        (True, int, "$", "int"),
        (1.0, int, "$", "int"),
        (1, str, "$", "str"),
        (b"x", str, "$", "str"),
        (None, str, "$", "str"),
        (I64_MAX + 1, int, "$", "a 64-bit integer"),
        (2**64, int, "$", "a 64-bit integer"),
        (I64_MIN - 1, int, "$", "a 64-bit integer"),
        (math.nan, float, "$", "a finite number"),
        (math.inf, float, "$", "a finite number"),
        (-math.inf, float, "$", "a finite number"),
        ({"a": [0, -math.inf]}, dict[str, list[float]], "$.a[1]", "a finite number"),
        ({"ϊ˟": [I64_MAX + 1]}, dict[str, list[int]], "$.ϊ˟[0]", "a 64-bit integer"),
        ([Account("Ann", 0), Account("Bob", I64_MAX + 1)], list[Account], "$[1].cents", "a 64-bit integer"),
        (Rated("Ann", 0, math.nan), Account, "$.rate", "a finite number"),  # what it adds is stored as well
        (datetime(2024, 3, 10), datetime, "$", "a datetime with a zone"),  # what is to be refused
        ("\ud800", str, "$", "text that is Unicode"),
        ({"full_name": "Ann"}, Person, "$", "Person"),
        (Person("Ann", seats=[Seat("x")]), Person, "$.seats[0].row_number", "int"),  # type: ignore[arg-type]
        (Person(7), Person, "$.full_name", "str"),  # type: ignore[arg-type]  # the wrong type is the test
        (object(), Any, "$", "Any"),
        ([object()], list[int], "$", "list[int]"),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_path(value: Any, declared: Any, path: str, expected: str) -> None:
    with pytest.raises(ValueMappingError) as caught:
        encode(value, declared)
    assert (caught.value.path, caught.value.expected) == (path, expected)


def _nested(depth: int, within: Callable[[Any], Any]) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = within(value)
    return value


def _knot() -> Any:
    knot: list[Any] = []
    knot.append(knot)
    return knot


@pytest.mark.spec("FL-03")
@pytest.mark.parametrize("within", [lambda inner: [inner], lambda inner: {"a": inner, "b": "é" * 9}])
def test_what_is_nested_too_deep_to_be_shown_is_not_stored(within: Callable[[Any], Any]) -> None:
    deepest = _nested(MAX_DEPTH, within)
    assert decode(encode(deepest)) == deepest
    assert to_edge(deepest) == deepest
    for value in (_nested(MAX_DEPTH + 1, within), _nested(5000, within), _knot()):
        with pytest.raises(ValueMappingError, match="nested more than 200 deep, or contains itself"):
            encode(value)


@pytest.mark.spec("FL-03")
def test_only_depth_counts_and_not_how_much_there_is() -> None:
    wide = [[[]] for _ in range(1000)]
    assert decode(encode(wide)) == wide
    chain = Person("Ann")
    for _ in range(MAX_DEPTH):
        chain = Person("Ann", friend=chain)
    with pytest.raises(ValueMappingError, match="nested more than 200 deep"):
        encode(chain, Person)


@pytest.mark.spec("FL-03")
def test_a_value_whose_own_code_raises_is_refused() -> None:
    class Zone(tzinfo):
        def utcoffset(self, _: datetime | None) -> timedelta:
            raise RuntimeError("no zone today")

    with pytest.raises(ValueMappingError, match=r"cannot be stored \(RuntimeError: no zone today"):
        encode(datetime(2024, 3, 10, tzinfo=Zone()))


def test_an_error_says_where_the_value_belongs() -> None:
    with pytest.raises(ValueMappingError, match=r"input of Step Charge: the value at \$ is str, and int is expected"):
        encode_as("x", int, "input of Step Charge")


def test_stored_bytes_of_another_type_are_refused() -> None:
    with pytest.raises(ValueMappingError) as caught:
        decode(encode({"full_name": 1}), Person)
    assert caught.value.path == "$.full_name"


def test_each_decoding_gives_a_value_of_its_own() -> None:
    data = encode(["a"], list[str])
    decode(data, list[str]).append("b")
    assert decode(data, list[str]) == ["a"]


class Foreign:
    """A class that nobody can store."""


@dataclass
class Holder:
    inner: dict[str, list[Foreign]]


@dataclass
class Lost:
    inner: "NoSuchName"  # type: ignore[name-defined]  # noqa: F821  # the missing name is the test


@dataclass
class Other:
    a: int


@pytest.mark.parametrize("declared", [Foreign, list[Foreign], Holder, Lost, Person | Other])
def test_a_type_that_cannot_be_stored_is_refused_when_declared(declared: Any) -> None:
    with pytest.raises(FlowDefinitionError, match="the type of Attribute A cannot be stored"):
        check_type(declared, "Attribute A")


@pytest.mark.parametrize("declared", [Person, Point, Tier, Any, dict, list[Person], Person | None, None])
def test_value_types_can_be_declared(declared: Any) -> None:
    check_type(declared, "Attribute A")


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        (int, "int"),
        (Person, "Person"),
        (list[Person], "list[Person]"),
        (Seat, "Seat"),
        (dict[str, Seat], "dict[str, Seat]"),
    ],
)
def test_types_are_told_as_people_write_them(declared: Any, name: str) -> None:
    assert type_name(declared) == name


@pytest.mark.spec("FL-03")
@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        (Parcel(1), "$[0].name"),  # type: ignore[arg-type]  # as all of these are
        (Parcel("a", {"b": "c"}), "$[0].weights[...]"),  # type: ignore[dict-item]
        (Parcel("a", inner=[Even(2)]), "$[0].inner[0].number"),
        ("parcel", "$[0]"),
        (None, "$[0]"),
    ],
    ids=repr,
)
def test_what_does_not_fit_inside_of_records_in_a_list_is_refused_with_its_path(wrong: Any, path: str) -> None:
    if isinstance(wrong, Parcel) and wrong.inner:
        wrong.inner[0].number = "2"  # type: ignore[assignment]
    with pytest.raises(ValueMappingError) as caught:
        encode([wrong], list[Parcel])
    assert caught.value.path == path


@pytest.mark.spec("FL-03")
def test_a_record_is_refused_that_its_own_making_would_refuse_when_it_is_read() -> None:
    even = Even(2)
    assert decode(encode([even], list[Even]), list[Even]) == [even]
    even.number = 3
    for value, declared in (([even], list[Even]), ([Parcel("a", inner=[even])], list[Parcel])):
        with pytest.raises(ValueMappingError, match="odd"):
            encode(value, declared)
