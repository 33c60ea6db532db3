"""Keys of map instances."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex import FlowDefinitionError
from dex.engine.flows.keys import check_definition_name, escape, split
from dex.wcl.errors import InvalidCommand
from tests.engine.flows.definitions.directory import Directory


@pytest.mark.spec("FL-04")
@pytest.mark.parametrize(
    ("instance", "key"),
    [("item/7", "Map/item%2F7"), ("100%", "Map/100%25"), ("%2F", "Map/%252F"), ("a b", "Map/a b"), ("é", "Map/é")],
)
def test_slash_and_percent_of_an_instance_are_escaped(instance: str, key: str) -> None:
    assert escape("Map", instance) == key
    assert split(key) == ("Map", instance)


@pytest.mark.spec("FL-04")
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=100))
def test_every_instance_has_a_key_of_its_own(instance: str) -> None:
    assert split(escape("Map", instance)) == ("Map", instance)


def test_a_plain_name_has_no_instance() -> None:
    assert split("Total") == ("Total", None)


@pytest.mark.parametrize("instance", ["", 7, None, b"x", "\ud800", "x" * 1025, "é" * 513])
def test_what_cannot_name_an_instance_is_refused(instance: object) -> None:
    with pytest.raises(InvalidCommand):
        escape("Map", instance)  # type: ignore[arg-type]  # the wrong type is the test


@pytest.mark.parametrize("name", ["", " ", "a/b", "a\n", 7])
def test_what_cannot_name_a_definition_is_refused(name: object) -> None:
    with pytest.raises(InvalidCommand):
        check_definition_name(name, "name of an Attribute")


@pytest.mark.spec("FL-04")
def test_people_may_write_an_instance_escaped_or_not() -> None:
    schema = Directory().get_persistence_schema()
    assert schema.attribute_key("Profiles/item/7") == "Profiles/item%2F7"
    assert schema.attribute_key("Profiles/item%2F7") == "Profiles/item%2F7"
    assert schema.attribute_key("Total") == "Total"
    assert schema.channel_key("Inbox/a/b") == "Inbox/a%2Fb"


@pytest.mark.parametrize("written", ["Profiles", "Total/x", "Profile/x"])
def test_a_key_of_the_wrong_kind_is_refused(written: str) -> None:
    with pytest.raises(FlowDefinitionError):
        Directory().get_persistence_schema().attribute_key(written)


@pytest.mark.parametrize("written", ["Inbox", "News/x", "Newz"])
def test_a_channel_key_of_the_wrong_kind_is_refused(written: str) -> None:
    with pytest.raises(FlowDefinitionError):
        Directory().get_persistence_schema().channel_key(written)
