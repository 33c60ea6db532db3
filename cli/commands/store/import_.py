"""`dex store import`."""

from typing import Annotated

import typer

from dex.cli.importing.rows import RowMapping
from dex.cli.importing.run import import_file
from dex.cli.paging import keys_to_put
from dex.cli.params import StoreName
from dex.cli.session import Ctx

EXAMPLES = """
dex store import accounts.employees employees.ndjson
dex store import accounts.employees people.csv --key-field id --named passport=passport_no
zcat employees.ndjson.gz | dex store import accounts.employees -
"""


def run(
    ctx: Ctx,
    store: StoreName,
    file: Annotated[str, typer.Argument(metavar="FILE", help="File to read, or - for standard input.")],
    form: Annotated[
        str | None, typer.Option("--format", metavar="ndjson|csv", help="Default: by the file's name, else ndjson.")
    ] = None,
    key_field: Annotated[str | None, typer.Option("--key-field", metavar="FIELD", help="Field with the key.")] = None,
    payload_field: Annotated[
        str | None, typer.Option("--payload-field", metavar="FIELD", help="Field with the payload.")
    ] = None,
    named: Annotated[
        list[str] | None,
        typer.Option("--named", metavar="NAMED_KEY=FIELD", help="Take a named key from FIELD; repeatable."),
    ] = None,
) -> None:
    """Put rows from a file.

    Without field options each line is what export writes: {key, payload, named}, or in CSV the columns key, payload
    and named.K, of which an empty cell is a value that is not set and := begins a typed one. With --key-field the
    payload is --payload-field, else the whole record as JSON; every value of CSV is text then, and an empty one is null
    in a named key. The fields that options name must be there. A line that fails does not stop the others; the exit
    code is 1 if any did.
    """
    session = ctx.obj
    keys = keys_to_put(session.engine, store)
    mapping = RowMapping.from_options(store, keys, key_field, payload_field, named or [])
    import_file(session, file, form, mapping.reading(), session.engine.execute_many)
