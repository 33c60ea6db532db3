"""`dex store import`."""

from typing import Annotated

import typer

from dex.cli.importing.rows import RowMapping
from dex.cli.importing.run import import_file
from dex.cli.params import StoreName
from dex.cli.session import Ctx
from dex.wcl.commands import PageRows

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
        typer.Option("--named", metavar="K=FIELD", help="Take named key K from FIELD; repeatable."),
    ] = None,
) -> None:
    """Put rows from a file.

    Without field options each line is what export writes: {key, payload, named}. With --key-field the payload is
    --payload-field, else the whole record as JSON. In CSV every value is text, and an empty one is null in a named
    key. A line that fails does not stop the others; the exit code is 1 if any did.
    """
    session = ctx.obj
    mapping = RowMapping.from_options(store, key_field, payload_field, named or [])
    session.engine.execute(PageRows(store=store, limit=1))
    import_file(session, file, form, mapping.command, session.engine.execute_many)
