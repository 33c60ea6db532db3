"""Every path of the HTTP interface (spec: K-01)."""

from dex.engine.server.route import Route
from dex.engine.server.routes import cluster, commands, document, feeds, flows, page, patterns, service, stores, sync

ROUTES: tuple[Route, ...] = (
    *commands.ROUTES,
    *stores.ROUTES,
    *feeds.ROUTES,
    *flows.ROUTES,
    *sync.ROUTES,
    *patterns.ROUTES,
    *document.ROUTES,
    *service.ROUTES,
    *page.ROUTES,
    *cluster.ROUTES,
)
