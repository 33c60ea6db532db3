"""Attributes and AttributeMaps within one call."""

from typing import Any

import pytest

from dex import (
    Attribute,
    AttributeMap,
    AttributeMapNotLoaded,
    AttributeMapNotLoadedError,
    FlowDefinitionError,
    PersistenceSchema,
    ValueMappingError,
)
from dex.engine.flows.access import Access
from dex.engine.flows.codec import decode
from tests.engine.flows.definitions.calls import call

TOTAL = Attribute("Total", int)
NAMES = Attribute("Names", list[str])
ITEMS = AttributeMap("Items", int)
SCHEMA = PersistenceSchema.of(TOTAL, NAMES, ITEMS)
ITEM_7 = Access(instances=frozenset({"Items/item%2F7"}))
ALL_ITEMS = Access(maps=frozenset({"Items"}))


@pytest.mark.spec("FL-03")
def test_an_unset_attribute_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="Total"):
        TOTAL.get(call(SCHEMA))


@pytest.mark.spec("FL-05")
def test_a_plain_attribute_is_loaded_by_itself() -> None:
    assert TOTAL.get(call(SCHEMA, {"Total": 3})) == 3


@pytest.mark.spec("FL-06")
def test_a_call_sees_its_own_writes() -> None:
    context = call(SCHEMA, {"Total": 3})
    TOTAL.set(context, 4)
    assert TOTAL.get(context) == 4
    assert context.workspace.writes.keys() == {"Total"}
    TOTAL.delete(context)
    with pytest.raises(KeyError):
        TOTAL.get(context)


@pytest.mark.spec("FL-03")
def test_none_deletes() -> None:
    context = call(SCHEMA, {"Total": 3})
    TOTAL.set(context, None)
    assert context.workspace.writes == {"Total": None}


def test_setting_what_is_stored_is_no_write() -> None:
    context = call(SCHEMA, {"Total": 3})
    TOTAL.set(context, 3)
    assert not context.workspace.has_effects
    TOTAL.set(context, 4)
    assert context.workspace.has_effects
    TOTAL.set(context, 3)
    assert not context.workspace.has_effects


def test_deleting_what_is_not_there_is_no_write() -> None:
    context = call(SCHEMA, access=ITEM_7)
    TOTAL.delete(context)
    ITEMS.delete(context, "item/7")
    assert not context.workspace.has_effects


def test_changing_what_was_read_changes_nothing_until_it_is_set() -> None:
    context = call(SCHEMA, {"Names": ["a"]})
    NAMES.get(context).append("b")
    assert NAMES.get(context) == ["a"]


@pytest.mark.spec("FL-03")
@pytest.mark.parametrize("stranger", [Attribute("Totals", int), AttributeMap("Total", int), Attribute("Items", int)])
def test_an_undeclared_name_is_refused(stranger: Any) -> None:
    instance = ("x",) if isinstance(stranger, AttributeMap) else ()
    context = call(SCHEMA, {"Total": 3})
    with pytest.raises(FlowDefinitionError, match="is not declared"):
        stranger.get(context, *instance)
    with pytest.raises(FlowDefinitionError, match="is not declared"):
        stranger.set(context, *instance, 1)
    assert not context.workspace.has_effects


@pytest.mark.spec("FL-03")
def test_an_undeclared_name_is_told_the_nearest() -> None:
    with pytest.raises(FlowDefinitionError, match=r"did you mean Total\?"):
        Attribute("Totals", int).get(call(SCHEMA))


@pytest.mark.spec("FL-03")
def test_a_value_of_another_type_is_refused_and_not_written() -> None:
    context = call(SCHEMA)
    with pytest.raises(ValueMappingError, match=r"Attribute Total: the value at \$ is str, and int is expected"):
        TOTAL.set(context, "3")  # type: ignore[arg-type]  # the wrong type is the test
    assert not context.workspace.has_effects


@pytest.mark.spec("FL-03")
def test_a_stored_value_of_another_type_names_the_attribute() -> None:
    with pytest.raises(ValueMappingError, match="Attribute Total"):
        TOTAL.get(call(SCHEMA, {"Total": "three"}))


@pytest.mark.spec("FL-05")
def test_an_instance_that_is_not_loaded_cannot_be_read() -> None:
    with pytest.raises(
        AttributeMapNotLoadedError, match=r"Items/a%2Fb is not loaded; .*load_attribute_map_instances"
    ) as e:
        ITEMS.get(call(SCHEMA, access=ITEM_7), "a/b")
    assert (e.value.attribute_map, e.value.instance) == ("Items", "a/b")
    assert AttributeMapNotLoaded is AttributeMapNotLoadedError


@pytest.mark.spec("FL-05")
@pytest.mark.parametrize("access", [ITEM_7, ALL_ITEMS])
def test_a_loaded_instance_is_read(access: Access) -> None:
    assert ITEMS.get(call(SCHEMA, {"Items/item%2F7": 1}, access=access), "item/7") == 1


@pytest.mark.spec("FL-04", "FL-05")
@pytest.mark.parametrize("access", [ITEM_7, ALL_ITEMS])
def test_a_loaded_instance_that_is_unset_is_a_key_error(access: Access) -> None:
    with pytest.raises(KeyError, match="Items/item%2F7"):
        ITEMS.get(call(SCHEMA, access=access), "item/7")


@pytest.mark.spec("FL-04")
def test_an_instance_is_written_alone_and_without_loading_it() -> None:
    context = call(SCHEMA)
    ITEMS.set(context, "a/b", 5)
    assert ITEMS.get(context, "a/b") == 5
    ITEMS.delete(context, "c")
    assert {key: data and decode(data) for key, data in context.workspace.writes.items()} == {
        "Items/a%2Fb": 5,
        "Items/c": None,
    }


@pytest.mark.spec("FL-04")
def test_the_instances_of_a_map_that_is_loaded_whole_are_listed_with_the_calls_own() -> None:
    context = call(SCHEMA, {"Items/b": 1, "Items/item%2F7": 2, "Total": 3}, access=ALL_ITEMS)
    ITEMS.set(context, "a", 1)
    ITEMS.delete(context, "b")
    assert ITEMS.instance_keys(context) == ["a", "item/7"]
    assert ITEMS.size(context) == 2


@pytest.mark.spec("FL-05")
def test_a_map_that_is_not_loaded_whole_is_not_listed() -> None:
    with pytest.raises(AttributeMapNotLoadedError, match="load_attribute_maps"):
        ITEMS.size(call(SCHEMA, access=ITEM_7))


def test_locks_and_loads_name_what_they_are_for() -> None:
    assert TOTAL.lock().key == "Total"
    assert ITEMS.lock("item/7").key == ITEMS.load("item/7").key == "Items/item%2F7"
