"""Files of records, line by line, in bounded memory."""

import csv
import io
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import msgspec

from dex.wcl.errors import DexError, InputError
from dex.wcl.values import MAX_PAYLOAD_BYTES


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
    except (msgspec.DecodeError, UnicodeError) as error:
        return InputError(f"this is not JSON: {error}")
    return record if isinstance(record, dict) else InputError("this is JSON, but not an object")


def csv_lines(stream: BinaryIO) -> Iterator[Line]:
    """Give the rows of a CSV file with a header as objects of text; an empty cell is null.

    Bytes that are not UTF-8 are kept, as surrogates.

    Raises:
        InputError: there is no header, or a column comes twice.
    """
    csv.field_size_limit(2 * MAX_PAYLOAD_BYTES)
    text = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
    reader = csv.reader(text)
    header = next(reader, [])
    if not header:
        raise InputError("the CSV file has no header", "its first line names the columns")
    if len(set(header)) < len(header):
        double = next(name for name in header if header.count(name) > 1)
        raise InputError(f"the column {double!r} comes twice in the CSV header", "give each column its own name")
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            yield Line(number, InputError(f"this is not CSV: {error}"), b"", 0)
            continue
        if cells:
            yield _row(number, header, cells)
    text.detach()


def _row(number: int, header: list[str], cells: list[str]) -> Line:
    size = sum(map(len, cells)) + len(cells)
    if len(cells) != len(header):
        return Line(number, InputError(f"there are {len(cells)} cells under {len(header)} columns"), b"", size)
    record = {name: cell or None for name, cell in zip(header, cells, strict=True)}
    raw = msgspec.json.encode(
        {
            name: cell.encode(errors="surrogateescape").decode(errors="replace")
            for name, cell in zip(header, cells, strict=True)
        }
    )
    return Line(number, record, raw, size)
