"""Every path of the HTTP interface (spec: K-01)."""

from dex.engine.server.route import Route
from dex.engine.server.routes import commands, stores

ROUTES: tuple[Route, ...] = (*commands.ROUTES, *stores.ROUTES)
