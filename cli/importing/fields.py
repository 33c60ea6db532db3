"""Fields of a record that is imported; every error names the field."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from dex.wcl.errors import DexError, InputError
from dex.wcl.names import did_you_mean

T = TypeVar("T")


def read_field(read: Callable[[Any], T], record: Mapping[str, Any], field: str) -> T:
    """Read a field's value with `read`.

    Raises:
        InputError: the record has no such field, with the nearest one.
        DexError: what `read` raises, with the field in front.
    """
    if field not in record:
        raise no_field(field, record)
    try:
        return read(record[field])
    except DexError as error:
        raise type(error)(f"field {field!r}: {error.message}", error.remedy, **error.facts) from error


def no_field(field: str, fields: Iterable[str]) -> InputError:
    """Give the error for a field that is not there, with the nearest of those that are."""
    names = list(fields)
    hint = did_you_mean(field, names) or f"the fields are {', '.join(names)}"
    return InputError(f"there is no field {field!r}", hint, field=field)
