"""The SDK's Feed: a facade over the same typed commands."""

from itertools import islice

import pytest

from dex import Conflict, Refused, StateStore
from dex.engine.client import Client
from dex.engine.statestore import Extractor
from dex.wcl.commands import FeedRecord
from dex.wcl.errors import InputError


@pytest.mark.spec("F-01", "F-02")
def test_records_are_appended_paged_and_followed(client: Client) -> None:
    feed = client.feeds.define("a.ev")
    assert feed.append("k1", '{"d": "x"}', {"pp": "1"}).seq == 1
    assert feed.append_many([FeedRecord(b"k2", b"{}"), FeedRecord(b"k1")]).seq == 3
    assert [(record.seq, record.key, record.payload) for record in feed.page().records] == [
        (1, b"k1", b'{"d": "x"}'),
        (2, b"k2", b"{}"),
        (3, b"k1", None),
    ]
    assert [record.seq for record in islice(feed.tail(after=1), 2)] == [2, 3]
    spec = StateStore.named("a.st").add_key("d", extractor=Extractor.json("d"))
    store = client.state_stores.define(spec, source="a.ev")
    assert store.get("k2", strict=True) is not None
    assert [row.key for row in store.iterate()] == [b"k2"]


@pytest.mark.spec("F-01", "S-07")
def test_an_append_with_an_id_is_done_once(client: Client) -> None:
    feed = client.feeds.define("a.ev")
    first = feed.append("k", "1", mutation_id="m")
    again = feed.append("k", "1", mutation_id="m")
    assert (again.seq, again.replayed) == (first.seq, True)
    with pytest.raises(Conflict):
        feed.append("k", "2", mutation_id="m")


@pytest.mark.spec("W-11", "S-18")
def test_a_feed_is_bound_by_its_name(client: Client) -> None:
    client.feeds.define("a.events")
    assert client.feed("a.events").name == "a.events"
    assert [feed.name for feed in client.feeds.list()] == ["a.events"]
    with pytest.raises(Refused, match=r"did you mean a\.events"):
        client.feed("a.event")
    client.feeds.drop("a.events")
    assert client.feeds.describe("a.events").stage == "dropped"


@pytest.mark.spec("W-09", "S-17")
def test_what_is_no_typed_command_is_told_so(client: Client) -> None:
    with pytest.raises(InputError, match=r"client\.commands"):
        client.execute({"command": "show_feeds"})
