"""The forms of files that are imported and exported."""

from dex.wcl.errors import InputError
from dex.wcl.names import did_you_mean

FORMS = ("ndjson", "csv")


def file_format(file: str | None, form: str | None) -> str:
    """Give the form of a file: as asked for, else by its name, else ndjson.

    Raises:
        InputError: the form that is asked for is none.
    """
    form = form or ("csv" if str(file).lower().endswith(".csv") else "ndjson")
    if form not in FORMS:
        raise InputError(f"{form!r} is not a format of files", did_you_mean(form, FORMS) or "use ndjson or csv")
    return form
