"""How Flows are started, stopped and rewound."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dex import (
    Attribute,
    FlowConfig,
    FlowTimeoutPolicy,
    IdReusePolicy,
    StartFlowOptions,
    StopFlowOptions,
    StopType,
    TimeTravelOptions,
    TimeTravelTo,
    ValueMappingError,
)
from dex.engine.flows.codec import decode
from dex.wcl.errors import InvalidCommand
from tests.engine.flows.definitions.directory import Directory

TOTAL = Attribute("Total", int)


@pytest.mark.spec("FL-01", "FL-02")
def test_a_start_has_no_timeout_and_the_default_policy() -> None:
    options = StartFlowOptions()
    assert (options.timeout, options.timeout_policy, options.id_reuse_policy) == (
        None,
        FlowTimeoutPolicy.FAIL,
        IdReusePolicy.DEFAULT,
    )


@pytest.mark.spec("FL-03")
def test_first_values_are_collected_one_by_one() -> None:
    first = StartFlowOptions(config_override=FlowConfig(attribute_store_names=["main"]))
    second = first.with_attribute(TOTAL, 3).with_attribute(Attribute("Name", str), "x")
    assert {name: decode(data) for name, data in second.attributes.items()} == {"Total": 3, "Name": "x"}
    assert second.config_override == FlowConfig(["main"])
    assert set(second.with_attribute(TOTAL, None).attributes) == {"Name"}
    assert first.attributes == {}


@pytest.mark.spec("FL-03")
def test_a_first_value_of_another_type_is_refused() -> None:
    with pytest.raises(ValueMappingError, match="Attribute Total"):
        StartFlowOptions().with_attribute(TOTAL, "3")
    with pytest.raises(InvalidCommand, match="is no Attribute"):
        StartFlowOptions().with_attribute(Directory.profiles, {})  # type: ignore[arg-type]  # a map is the test


@pytest.mark.parametrize("fields", [{"timeout": timedelta(0)}, {"start_delay": timedelta(seconds=-1)}])
def test_a_start_that_makes_no_sense_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidCommand):
        StartFlowOptions(**fields)


@pytest.mark.spec("FL-11")
def test_a_stop_cancels_unless_it_says_otherwise() -> None:
    assert StopFlowOptions().stop_type is StopType.CANCEL
    assert {kind.value for kind in StopType} == {"cancel", "terminate", "fail"}


@pytest.mark.spec("FL-13")
def test_time_travel_goes_to_one_point() -> None:
    noon = datetime(2024, 3, 10, 12, tzinfo=UTC)
    assert TimeTravelOptions.to_beginning("again") == TimeTravelOptions(TimeTravelTo.BEGINNING, None, "again")
    assert TimeTravelOptions.to_event(7).target == 7
    assert TimeTravelOptions.to_time(noon).target == noon
    assert TimeTravelOptions.to_step_type("Ship").to is TimeTravelTo.STEP_TYPE
    assert TimeTravelOptions.to_step_execution("Ship-1", run_id="r").run_id == "r"


@pytest.mark.spec("FL-13")
@pytest.mark.parametrize(
    ("to", "target"),
    [
        (TimeTravelTo.BEGINNING, 1),
        (TimeTravelTo.EVENT, "7"),
        (TimeTravelTo.EVENT, True),
        (TimeTravelTo.TIME, "noon"),
        (TimeTravelTo.TIME, datetime(2024, 3, 10)),  # what is to be refused
        (TimeTravelTo.STEP_TYPE, None),
    ],
)
def test_time_travel_to_another_kind_of_point_is_refused(to: TimeTravelTo, target: Any) -> None:
    with pytest.raises(InvalidCommand):
        TimeTravelOptions(to, target)
