"""From records of a file to records of a feed."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dex.cli.importing.fields import read_field
from dex.wcl.commands import AppendRecords, FeedRecord
from dex.wcl.errors import InputError
from dex.wcl.jsontext import refuse_repeated_names
from dex.wcl.values import blob_from_json

if TYPE_CHECKING:
    from dex.engine.protocol import Engine

_FIELDS = frozenset({"key", "metadata", "payload"})


def record_from(record: dict[str, Any], raw: bytes) -> FeedRecord:
    """Make a feed record of {key, metadata, payload}.

    Raises:
        InputError, InvalidCommand: a field is unknown, missing or given twice, or its value is wrong.
    """
    refuse_repeated_names(raw, record, "the record")
    unknown = next((name for name in record if name not in _FIELDS | {"seq"}), None)
    if unknown is not None:
        raise InputError(f"unknown field {unknown!r}", "a line is {key, metadata, payload}")
    metadata = record.get("metadata", {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise InputError("field 'metadata': it is not an object of texts", "metadata is text")
    return FeedRecord(
        key=read_field(blob_from_json, record, "key"),
        payload=read_field(_payload, record, "payload") if "payload" in record else b"",
        metadata=metadata,
    )


def _payload(data: Any) -> bytes | None:
    return None if data is None else blob_from_json(data)


def sender(engine: "Engine", feed: str) -> Callable[[list[FeedRecord]], list[Any]]:
    """Give the function that appends a batch of records in one commit."""

    def send(records: list[FeedRecord]) -> list[Any]:
        (result,) = engine.execute_many([AppendRecords(feed=feed, records=records)])
        return [result] * len(records)

    return send
