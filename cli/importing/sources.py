"""Files of records, line by line, in bounded memory."""

import csv
import io
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

import msgspec

from dex.wcl.errors import DexError, InputError
from dex.wcl.values import MAX_PAYLOAD_BYTES, nested_too_deeply

CheckFields = Callable[[list[str]], None]
"""Looks at the fields that a file names up front; it raises what is wrong with them."""

_UTF8_REMEDY = "save it as UTF-8, as `iconv -f ISO-8859-1 -t UTF-8` does"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Line(NamedTuple):
    """One record: its line in the file (from 1), the record or what is wrong with it, and its bytes."""

    number: int
    record: dict[str, Any] | DexError
    raw: bytes
    size: int


def json_lines(stream: BinaryIO) -> Iterator[Line]:
    """Give the objects of an ndjson file; blank lines are passed over."""
    decoder = msgspec.json.Decoder()
    for number, line in enumerate(stream, 1):
        text = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
        if text:
            yield Line(number, _object(decoder, text), text, len(line))


def _object(decoder: "msgspec.json.Decoder[Any]", text: bytes) -> dict[str, Any] | DexError:
    try:
        record = decoder.decode(text)
    except RecursionError:
        return nested_too_deeply()
    except (msgspec.DecodeError, UnicodeError) as error:
        return _not_utf8(text) or InputError(f"this is not JSON: {error}")
    return record if isinstance(record, dict) else InputError("this is JSON, but not an object")


def _not_utf8(text: bytes) -> DexError | None:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return InputError(f"this is not UTF-8: byte {error.start + 1} is 0x{text[error.start]:02x}", _UTF8_REMEDY)
    return None


def csv_lines(stream: BinaryIO, file: str, check: CheckFields) -> Iterator[Line]:
    """Give the rows of a CSV file with a header as objects of text; an empty cell is null.

    Raises:
        InputError: there is no header, it is not UTF-8, or a column comes twice; or what `check` raises.
    """
    csv.field_size_limit(8 * MAX_PAYLOAD_BYTES)
    text = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
    reader = csv.reader(text, strict=True)
    header = _header(reader, file)
    check(header)
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            yield Line(number, _not_csv(error, number, reader.line_num), b"", 0)
            continue
        if cells:
            yield _row(number, header, cells)
    text.detach()


def _not_csv(error: csv.Error, first: int, last: int) -> InputError:
    """Give the error for a record that begins and ends on these lines and cannot be read."""
    if "unexpected end" not in str(error):
        return InputError(f"this is not CSV: {error}", "put text with quotes in quotes, and double those inside")
    lines = f"all up to line {last} counts as" if last > first else "the rest is"
    return InputError(f"this is not CSV: a quote is never closed, so that {lines} one cell", "close it")


def _header(reader: Iterator[list[str]], file: str) -> list[str]:
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise InputError(f"{file}:1: this is not CSV: {error}", "its first line names the columns") from error
    if not header:
        raise InputError("the CSV file has no header", "its first line names the columns")
    for number, name in enumerate(header, 1):
        problem = _bad_byte(name)
        if problem:
            # A byte order mark of UTF-16 leaves a zero byte beside every character.
            kind = " (it looks like UTF-16)" if name.encode(errors="surrogateescape")[:2] in _UTF16_MARKS else ""
            remedy = "save it as UTF-8" if kind else _UTF8_REMEDY
            raise InputError(
                f"{file}:1: the name of column {number} is not UTF-8: {problem}{kind}", remedy, file=file, line=1
            )
    if len(set(header)) < len(header):
        double = next(name for name in header if header.count(name) > 1)
        raise InputError(f"the column {double!r} comes twice in the CSV header", "give each column its own name")
    return header


def _row(number: int, header: list[str], cells: list[str]) -> Line:
    size = sum(map(len, cells)) + len(cells)
    if len(cells) != len(header):
        found = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
        under = "1 column" if len(header) == 1 else f"{len(header)} columns"
        return Line(number, InputError(f"{found} under {under}"), b"", size)
    try:
        raw = msgspec.json.encode(dict(zip(header, cells, strict=True)))
    except UnicodeEncodeError:
        return Line(number, _bad_cell(header, cells), b"", size)
    return Line(number, {name: cell or None for name, cell in zip(header, cells, strict=True)}, raw, size)


def _bad_cell(header: list[str], cells: list[str]) -> DexError:
    """Give the error for a row with a byte that is not UTF-8."""
    name, problem = next((name, bad) for name, cell in zip(header, cells, strict=True) if (bad := _bad_byte(cell)))
    return InputError(f"the cell of {name!r} is not UTF-8: {problem}", _UTF8_REMEDY, field=name)


def _bad_byte(text: str) -> str | None:
    """Tell the first byte that is not UTF-8 and came in as a surrogate, counted in bytes from 1."""
    raw = text.encode(errors="surrogateescape")
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return f"byte {error.start + 1} of it is 0x{raw[error.start]:02x}"
    return None
