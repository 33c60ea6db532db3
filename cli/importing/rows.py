"""From records of a file to rows of a store."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from dex.cli.importing.fields import no_field, read_field
from dex.cli.importing.run import Reading
from dex.cli.rowcells import blob_from_cell, from_cell, key_in
from dex.wcl.commands import PutRow
from dex.wcl.errors import InputError
from dex.wcl.jsontext import refuse_repeated_names
from dex.wcl.names import did_you_mean
from dex.wcl.values import blob_from_json, value_from_json

_EXPORTED = frozenset({"key", "payload", "named"})
_MAP = "take the fields of other files with --key-field"


class RowMapping(NamedTuple):
    """Which fields of a record become key, payload and named values.

    Without `key_field` a record has the form that `dex store export` writes. `declared` are the store's named keys.
    """

    store: str
    declared: tuple[str, ...]
    key_field: str | None
    payload_field: str | None
    named: dict[str, str]

    @classmethod
    def from_options(
        cls, store: str, declared: Iterable[str], key_field: str | None, payload_field: str | None, named: list[str]
    ) -> "RowMapping":
        """Read the options of `dex store import`.

        Raises:
            InputError: an option is not K=FIELD, the store has no key K, or a field is named without --key-field.
        """
        fields: dict[str, str] = {}
        for option in named:
            key, equals, field = option.partition("=")
            if not equals or not key or not field:
                raise InputError(f"--named {option!r} is not K=FIELD", "write --named passport=passport_no")
            fields[key] = field
        if key_field is None and (payload_field is not None or fields):
            raise InputError("fields are mapped, but not the key", "name its field with --key-field")
        mapping = cls(store, tuple(declared), key_field, payload_field, fields)
        for key in fields:
            mapping.check_declared(key)
        return mapping

    def reading(self) -> Reading:
        """Give how lines become commands."""
        if self.key_field is None:
            return Reading(self._exported, self._exported_cells, self._check_exported_header)
        return Reading(self._mapped, self._mapped, self._check_header)

    def check_declared(self, key: str) -> None:
        """Refuse a named key that the store does not have.

        Raises:
            InputError: with the nearest one.
        """
        if key not in self.declared:
            known = f"its keys are {', '.join(self.declared)}" if self.declared else "it has no named keys"
            hint = did_you_mean(key, self.declared) or known
            raise InputError(f"the store {self.store!r} has no named key {key!r}", hint, named_key=key)

    def _check_header(self, header: list[str]) -> None:
        """Refuse a file without a field that an option names, before any row is replaced by one that lacks it."""
        for field in filter(None, (self.key_field, self.payload_field, *self.named.values())):
            if field not in header:
                raise no_field(field, header)

    def _check_exported_header(self, header: list[str]) -> None:
        for column in header:
            key = key_in(column)
            if key is not None:
                self.check_declared(key)
            elif column not in ("key", "payload"):
                raise InputError(f"the column {column!r} is none that export writes", _MAP, field=column)
        if "key" not in header:
            raise InputError("there is no column 'key'", _MAP)

    def _mapped(self, record: dict[str, Any], raw: bytes) -> PutRow:
        """Make the command that puts a record; `raw` is the record as JSON. What its fields hold is kept as it is.

        Raises:
            InputError, InvalidCommand: the record does not have the fields or values that a row needs.
        """
        refuse_repeated_names(raw, record, "the record", nested=False)
        key = read_field(_key, record, str(self.key_field))
        payload = raw if self.payload_field is None else read_field(_payload, record, self.payload_field)
        named = {key: read_field(value_from_json, record, field) for key, field in self.named.items()}
        return PutRow(store=self.store, key=key, payload=payload, named=named)

    def _exported(self, record: dict[str, Any], raw: bytes) -> PutRow:
        refuse_repeated_names(raw, record, "the record")
        if not record.keys() <= _EXPORTED:
            unknown = next(name for name in record if name not in _EXPORTED)
            raise InputError(f"unknown field {unknown!r}", "a line is {key, payload, named}, or use --key-field")
        named = record.get("named", {})
        if not isinstance(named, dict):
            raise InputError("the field 'named' is not an object")
        return PutRow(
            store=self.store,
            key=read_field(blob_from_json, record, "key"),
            payload=read_field(blob_from_json, record, "payload") if "payload" in record else b"",
            named={name: read_field(value_from_json, named, name) for name in named},
        )

    def _exported_cells(self, record: dict[str, Any], _raw: bytes) -> PutRow:
        """Make the command that puts a line of CSV as export writes it; an empty cell is a value that is not set."""
        filled = {column: cell for column, cell in record.items() if cell is not None}
        return PutRow(
            store=self.store,
            key=read_field(blob_from_cell, filled, "key"),
            payload=read_field(blob_from_cell, filled, "payload") if "payload" in filled else b"",
            named={
                key: read_field(from_cell, filled, column) for column in filled if (key := key_in(column)) is not None
            },
        )


def _key(data: Any) -> bytes:
    """Read a key; a whole number counts as its digits."""
    if data is None or data == "":
        raise InputError("it is empty", "give every row a key of 1 to 4096 bytes")
    if isinstance(data, int) and not isinstance(data, bool):
        return str(data).encode()
    return blob_from_json(data)


def _payload(data: Any) -> bytes:
    """Read a payload; what is neither text nor bytes is kept as JSON."""
    if isinstance(data, str) or (isinstance(data, dict) and data.keys() == {"bytes"}):
        return blob_from_json(data)
    return b"" if data is None else msgspec.json.encode(data)
