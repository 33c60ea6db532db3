"""`dex profile import` (spec: H-06)."""

from typing import Annotated

import typer

from dex.cli.importing.profiles import profile_from, sender
from dex.cli.importing.run import Reading, import_file
from dex.cli.session import Ctx
from dex.samples.customer_directory import CustomerDirectory

EXAMPLES = """
dex profile import samples/people.csv
zcat people.ndjson.gz | dex profile import -
"""


def run(
    ctx: Ctx,
    file: Annotated[str, typer.Argument(metavar="FILE", help="File to read, or - for standard input.")],
    form: Annotated[
        str | None, typer.Option("--format", metavar="ndjson|csv", help="Default: by the file's name, else ndjson.")
    ] = None,
) -> None:
    """Upsert profiles from a file.

    Each line has emailAddress, fullName, companyName and customerTier; snake_case is read too. An import that was
    interrupted can be run again from the start: what was applied is applied again, with the same outcome. A line
    that fails does not stop the others; the exit code is 1 if any did.
    """
    directory = CustomerDirectory(ctx.obj.client)
    directory.run.check_started()
    with sender(directory) as send:
        import_file(ctx.obj, file, form, Reading(profile_from, profile_from), send, replaces=False)
