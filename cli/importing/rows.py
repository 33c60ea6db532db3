"""From records of a file to rows of a store."""

from typing import Any, NamedTuple

import msgspec

from dex.wcl.commands import PutRow
from dex.wcl.errors import InputError
from dex.wcl.values import blob_from_json, value_from_json

_EXPORTED = frozenset({"key", "payload", "named"})


class RowMapping(NamedTuple):
    """Which fields of a record become key, payload and named values.

    Without `key_field` a record has the form that `dex store export` writes.
    """

    store: str
    key_field: str | None
    payload_field: str | None
    named: dict[str, str]

    @classmethod
    def from_options(
        cls, store: str, key_field: str | None, payload_field: str | None, named: list[str]
    ) -> "RowMapping":
        """Read the options of `dex store import`.

        Raises:
            InputError: an option is not K=FIELD, or a field is named without --key-field.
        """
        fields: dict[str, str] = {}
        for option in named:
            key, equals, field = option.partition("=")
            if not equals or not key or not field:
                raise InputError(f"--named {option!r} is not K=FIELD", "write --named passport=passport_no")
            fields[key] = field
        if key_field is None and (payload_field is not None or fields):
            raise InputError("fields are mapped, but not the key", "name its field with --key-field")
        return cls(store, key_field, payload_field, fields)

    def command(self, record: dict[str, Any], raw: bytes) -> PutRow:
        """Make the command that puts a record; `raw` is the record as JSON.

        Raises:
            InputError, InvalidCommand: the record does not have the fields or values that a row needs.
        """
        if self.key_field is None:
            return self._exported(record)
        payload = raw if self.payload_field is None else _payload(_field(record, self.payload_field))
        named = {key: value_from_json(record.get(field)) for key, field in self.named.items()}
        return PutRow(store=self.store, key=_key(_field(record, self.key_field)), payload=payload, named=named)

    def _exported(self, record: dict[str, Any]) -> PutRow:
        if not record.keys() <= _EXPORTED:
            unknown = next(name for name in record if name not in _EXPORTED)
            raise InputError(f"unknown field {unknown!r}", "a line is {key, payload, named}, or use --key-field")
        named = record.get("named", {})
        if not isinstance(named, dict):
            raise InputError("named is not an object")
        return PutRow(
            store=self.store,
            key=_blob(_field(record, "key")),
            payload=_blob(record.get("payload", "")),
            named={name: value_from_json(value) for name, value in named.items()},
        )


def _field(record: dict[str, Any], name: str) -> Any:
    if name not in record:
        raise InputError(f"there is no field {name!r}")
    return record[name]


def _blob(data: Any) -> bytes:
    """Read text or bytes; text of a CSV file may hold bytes that are not UTF-8."""
    if isinstance(data, str):
        try:
            return data.encode(errors="surrogateescape")
        except UnicodeEncodeError:
            return blob_from_json(data)
    return blob_from_json(data)


def _key(data: Any) -> bytes:
    """Read a key; a whole number counts as its digits."""
    if isinstance(data, int) and not isinstance(data, bool):
        return str(data).encode()
    return _blob(data)


def _payload(data: Any) -> bytes:
    """Read a payload; what is neither text nor bytes is kept as JSON."""
    if isinstance(data, str) or (isinstance(data, dict) and data.keys() == {"bytes"}):
        return _blob(data)
    return b"" if data is None else msgspec.json.encode(data)
