"""`dex config show` (spec: X-01)."""

from dex.cli.session import Ctx

EXAMPLES = """
dex config show
DEX_OUTPUT=yaml dex config show --context staging
"""


def run(ctx: Ctx) -> None:
    """Show each setting with its origin.

    The order is flag, environment, context, configuration file, default. Secrets are hidden.
    """
    ctx.obj.out.result(ctx.obj.settings.rows())
