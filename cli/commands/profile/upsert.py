"""`dex profile upsert` (spec: H-03, H-05)."""

from typing import Annotated

import typer

from dex.cli.session import Ctx
from dex.samples.customer_directory import CustomerDirectory, CustomerProfile

EXAMPLES = """
dex profile upsert ann@example.test --name "Ann Example" --company "Example Ltd" --tier gold
"""


def run(
    ctx: Ctx,
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="Email address, the key of the profile.")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Full name.")],
    company: Annotated[str, typer.Option("--company", metavar="NAME", help="Name of the company.")],
    tier: Annotated[str, typer.Option("--tier", metavar="TIER", help="Customer tier.")],
) -> None:
    """Add or replace a profile.

    Tried again for a while if another writer holds the lock of the partition.
    """
    profile = CustomerProfile(email_address=email, full_name=name, company_name=company, customer_tier=tier)
    ctx.obj.out.result(CustomerDirectory(ctx.obj.client).upsert(profile))
