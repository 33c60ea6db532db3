"""Arguments of another type, as a program may pass them by mistake, are refused with one clear line."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dex import Client, Extractor, StateStore, connect
from dex.wcl import commands
from dex.wcl.commands import FeedRecord
from dex.wcl.errors import InputError, InvalidCommand
from tests.directories import fast_directory

Call = Callable[[Client, Any], Any]

CALLS: dict[str, Call] = {
    "state_store": lambda client, wrong: client.state_store(wrong),
    "feed": lambda client, wrong: client.feed(wrong),
    "wcl": lambda client, wrong: client.wcl(wrong),
    "commands": lambda client, wrong: client.commands([wrong]),
    "execute": lambda client, wrong: client.execute(wrong),
    "define": lambda client, wrong: client.state_stores.define(wrong),
    "define source": lambda client, wrong: client.state_stores.define(StateStore.named("z"), wrong),
    "store drop": lambda client, wrong: client.state_stores.drop(wrong),
    "store describe": lambda client, wrong: client.state_stores.describe(wrong),
    "feed define": lambda client, wrong: client.feeds.define(wrong),
    "feed describe": lambda client, wrong: client.feeds.describe(wrong),
    "named": lambda _, wrong: StateStore.named(wrong),
    "add_key": lambda _, wrong: StateStore.named("q").add_key(wrong),
    "add_key unique": lambda _, wrong: StateStore.named("q").add_key("a", unique=wrong),
    "add_key extractor": lambda _, wrong: StateStore.named("q").add_key("a", extractor=wrong),
    "bind": lambda _, wrong: StateStore.named("q").bind(wrong),
    "metadata": lambda _, wrong: Extractor.metadata(wrong),
    "json": lambda _, wrong: Extractor.json(wrong),
    "put": lambda client, wrong: client.state_store("s").put(wrong, b""),
    "put payload": lambda client, wrong: client.state_store("s").put(b"a", wrong),
    "put named": lambda client, wrong: client.state_store("s").put(b"a", b"", wrong),
    "put name": lambda client, _: client.state_store("s").put(b"a", b"", {5: 1}),  # type: ignore[dict-item]
    "put mutation id": lambda client, wrong: client.state_store("s").put(b"a", b"", mutation_id=wrong),
    "delete": lambda client, wrong: client.state_store("s").delete(wrong),
    "clear": lambda client, wrong: client.state_store("s").clear(mutation_id=wrong),
    "get": lambda client, wrong: client.state_store("s").get(wrong),
    "get wait": lambda client, wrong: client.state_store("s").get(b"a", wait_ms=wrong),
    "get_by": lambda client, wrong: client.state_store("s").get_by(wrong, 1),
    "page": lambda client, wrong: client.state_store("s").page(limit=wrong),
    "page after": lambda client, wrong: client.state_store("s").page(after=wrong),
    "append": lambda client, wrong: client.feed("f").append(wrong),
    "append payload": lambda client, wrong: client.feed("f").append(b"a", wrong),
    "append metadata": lambda client, wrong: client.feed("f").append(b"a", b"", wrong),
    "append metadata value": lambda client, wrong: client.feed("f").append(b"a", b"", {"x": wrong}),
    "append_many": lambda client, wrong: client.feed("f").append_many([wrong]),
    "feed page": lambda client, wrong: client.feed("f").page(after=wrong),
    "tail": lambda client, wrong: next(client.feed("f").tail(after=wrong)),
    "connect": lambda _, wrong: connect(wrong),
    "put row": lambda client, wrong: client.execute(commands.PutRow(store=wrong, key=b"a")),
    "get by": lambda client, wrong: client.execute(commands.GetBy(store=wrong, named_key="k", value=1)),
    "page records": lambda client, wrong: client.execute(commands.PageRecords(feed=wrong)),
    "named keys": lambda _, wrong: commands.DefineStateStore(name="v", named_keys=[wrong]),
    "source": lambda _, wrong: commands.DefineStateStore(name="v", source=wrong),
    "records": lambda _, wrong: commands.AppendRecords(feed="f", records=wrong),
    "record": lambda _, wrong: FeedRecord(wrong),
}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A client with the store s, whose key is k, and the feed f."""
    with fast_directory() as directory, connect(directory) as client:
        client.wcl("DEFINE STATESTORE s KEYS k; DEFINE FEED f")
        yield client


@pytest.mark.spec("S-15", "S-17")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("wrong", [object(), 1.5, [["a"]], {"a": object()}], ids=["object", "float", "list", "dict"])
def test_an_argument_of_another_type_is_refused(client: Client, call: Call, wrong: Any) -> None:
    """Never with an error of Python's own from somewhere inside, and in one line that names no function."""
    with pytest.raises((InputError, InvalidCommand)) as caught:
        call(client, wrong)
    assert "\n" not in str(caught.value)
    assert caught.value.remedy
    assert client.state_store("s").page().rows == []


@pytest.mark.spec("S-17")
@pytest.mark.parametrize("wrong", ["x", None, True, 0, -1.0, float("nan"), [1]])
def test_a_timeout_that_is_none_is_refused(wrong: Any) -> None:
    """Before anything is opened."""
    with pytest.raises(InputError, match="timeout is a number of seconds above 0"):
        connect("nowhere", timeout=wrong)
