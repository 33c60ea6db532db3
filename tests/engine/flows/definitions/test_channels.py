"""Channels within one call."""

from typing import Any

import pytest

from dex import (
    Channel,
    ChannelCondition,
    ChannelMap,
    ChannelMessageNotFoundError,
    FlowDefinitionError,
    PersistenceSchema,
    ValueMappingError,
)
from dex.engine.flows.access import Access
from dex.engine.flows.codec import encode
from dex.wcl.errors import InvalidCommand
from tests.engine.flows.definitions.calls import call

NEWS = Channel("News", str)
INBOX = ChannelMap("Inbox", int)
SCHEMA = PersistenceSchema.of(NEWS, INBOX)
LOADED = Access(channels=frozenset({"News", "Inbox/a%2Fb"}))
STORED: dict[str, list[Any]] = {"News": ["one", "two"], "Inbox/a%2Fb": [1]}


@pytest.mark.spec("FL-09")
def test_messages_are_published_in_order_with_the_commit() -> None:
    context = call(SCHEMA)
    NEWS.publish(context, "x")
    INBOX.publish(context, "a/b", 7)
    assert context.workspace.publishes == [("News", encode("x")), ("Inbox/a%2Fb", encode(7))]
    assert NEWS.size(context) == 0


@pytest.mark.spec("FL-09")
def test_pending_messages_are_listed_with_their_ids() -> None:
    context = call(SCHEMA, access=LOADED, channels=STORED)
    assert [(message.message_id, message.value) for message in NEWS.pending_messages(context)] == [
        ("m0", "one"),
        ("m1", "two"),
    ]
    assert [message.value for message in INBOX.pending_messages(context, "a/b")] == [1]


@pytest.mark.spec("FL-09")
def test_a_deleted_message_is_gone_for_the_call() -> None:
    context = call(SCHEMA, access=LOADED, channels=STORED)
    NEWS.delete(context, "m0")
    INBOX.delete(context, "a/b", "m0")
    assert context.workspace.deleted_messages == [("News", "m0"), ("Inbox/a%2Fb", "m0")]
    assert [message.value for message in NEWS.pending_messages(context)] == ["two"]
    assert (NEWS.size(context), INBOX.size(context, "a/b")) == (1, 0)


@pytest.mark.spec("FL-09")
def test_a_message_that_is_not_there_cannot_be_deleted() -> None:
    context = call(SCHEMA, access=LOADED, channels=STORED)
    with pytest.raises(ChannelMessageNotFoundError) as caught:
        NEWS.delete(context, "m9")
    assert (caught.value.channel, caught.value.message_id) == ("News", "m9")
    NEWS.delete(context, "m0")
    with pytest.raises(ChannelMessageNotFoundError):
        NEWS.delete(context, "m0")


def test_the_size_is_known_without_loading() -> None:
    assert NEWS.size(call(SCHEMA, channels=STORED)) == 2


def test_messages_that_are_not_loaded_are_not_listed() -> None:
    with pytest.raises(FlowDefinitionError, match="load_channels"):
        NEWS.pending_messages(call(SCHEMA, channels=STORED))


@pytest.mark.spec("FL-08")
def test_the_results_are_what_the_wait_has_taken() -> None:
    context = call(SCHEMA, consumed={"News": ["x", "y"], "Inbox/a%2Fb": [3]})
    assert NEWS.results(context) == ["x", "y"]
    assert INBOX.results(context, "a/b") == [3]
    assert NEWS.results(call(SCHEMA)) == []


@pytest.mark.spec("FL-09")
def test_a_message_of_another_type_is_refused() -> None:
    with pytest.raises(ValueMappingError, match="Channel News"):
        NEWS.publish(call(SCHEMA), 1)  # type: ignore[arg-type]  # the wrong type is the test


@pytest.mark.spec("FL-09")
@pytest.mark.parametrize("stranger", [Channel("New", str), Channel("Inbox", str)])
def test_an_undeclared_channel_is_refused(stranger: Channel[str]) -> None:
    context = call(SCHEMA)
    with pytest.raises(FlowDefinitionError, match="is not declared"):
        stranger.publish(context, "x")
    assert not context.workspace.has_effects


@pytest.mark.spec("FL-08")
def test_conditions_say_how_many_messages_they_take() -> None:
    assert NEWS.for_one("id") == ChannelCondition("News", 1, 1, "id")
    assert NEWS.for_n(3) == ChannelCondition("News", 3, 3)
    assert NEWS.at_least(2) == ChannelCondition("News", 2, None)
    assert NEWS.at_most(5) == ChannelCondition("News", 1, 5)
    assert NEWS.for_range(2, 4) == ChannelCondition("News", 2, 4)
    assert INBOX.for_one("a/b") == ChannelCondition("Inbox/a%2Fb", 1, 1)
    assert INBOX.for_range("a", 2, 4) == ChannelCondition("Inbox/a", 2, 4)


def test_a_condition_that_cannot_be_met_is_refused() -> None:
    with pytest.raises(InvalidCommand):
        NEWS.for_n(0)
    with pytest.raises(InvalidCommand):
        NEWS.for_range(4, 2)
