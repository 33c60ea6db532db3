"""`dex config show` (spec: X-01)."""

from dex.cli.session import Ctx

EXAMPLES = """
dex config show
DEX_OUTPUT=yaml dex config show --context staging
"""


def run(ctx: Ctx) -> None:
    """Show each setting with its origin.

    The order is flag, environment, context, configuration file, default. Secrets are hidden. A setting that nobody
    has set has its default; null is none, such as no time limit. `dex config --help` shows the file.
    """
    rows = ctx.obj.settings.rows()
    for row in rows:
        # The default depends on where the result goes.
        if row["setting"] == "output" and row["value"] is None:
            row["value"] = ctx.obj.form
    ctx.obj.out.result(rows)
