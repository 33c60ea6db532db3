"""The status page: what a person sees of a server in a browser (spec: K-01)."""

import asyncio
import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from dex import __version__
from dex.engine.clock import iso
from dex.engine.failures import Failure, RecentFailures
from dex.engine.server.dispatch import Dispatcher
from dex.engine.vitals import Vitals
from dex.wcl.commands.cluster import ClusterStatus, ShowCluster
from dex.wcl.commands.flowresults import Status
from dex.wcl.commands.overview import AGE_LIMITS_SECONDS, MOST_COUNTED, Overview, ShowOverview, SyncOverview

if TYPE_CHECKING:
    from jinja2 import Template

    from dex.engine.protocol import SyncSeen

_FOLDER = Path(__file__).with_name("page")
# However many look, and however much there is to count: at most a tenth of the time goes into looking.
_VALID_SECONDS = 1.0
_REST_PER_LOOK = 9
_MOST_FAILURES = 20
_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
_BYTES = ("bytes", "KiB", "MiB", "GiB", "TiB")


class Seen(NamedTuple):
    """What one look has found; no cluster where the engine is no node of one."""

    overview: Overview
    vitals: Vitals
    cluster: ClusterStatus | None


class StatusPage:
    """Renders the page from a look at the engine, which many requests share. Belongs to one event loop."""

    def __init__(self, dispatcher: Dispatcher, failures: RecentFailures, syncing: "SyncSeen | None") -> None:
        self._dispatcher = dispatcher
        self._failures = failures
        self._syncing = syncing
        self._started = time.time()
        self._looking = asyncio.Lock()
        self._seen: Seen | None = None
        self._valid_until = float("-inf")

    async def render(self) -> bytes:
        """Give the page as HTML.

        Raises:
            DexError: the engine cannot be looked at.
        """
        seen = await self._look()
        return await self._dispatcher.compute(lambda: self._render(seen))

    async def _look(self) -> Seen:
        async with self._looking:
            began = time.monotonic()
            if self._seen is None or began >= self._valid_until:
                overview = await self._dispatcher.execute(ShowOverview())
                vitals = await asyncio.to_thread(self._dispatcher.engine.vitals)
                cluster = await self._dispatcher.execute(ShowCluster()) if self._dispatcher.engine.secret else None
                self._seen = Seen(overview, vitals, cluster)
                now = time.monotonic()
                self._valid_until = now + max(_VALID_SECONDS, _REST_PER_LOOK * (now - began))
            return self._seen

    def _render(self, seen: Seen) -> bytes:
        engine, syncing, overview = self._dispatcher.engine, self._syncing, seen.overview
        behind = {found.store for found in overview.sync}
        failures = [*self._failures.latest(), *engine.failures()]
        page = _template().render(
            version=__version__,
            directory=str(engine.data_dir),
            started=self._started,
            uptime=time.time() - self._started,
            sync=None if syncing is None else syncing.state,
            sync_error=None if syncing is None else syncing.error,
            idle_stores=[] if syncing is None else sorted(set(syncing.stores) - behind),
            overview=overview,
            statuses=get_args(Status),
            flows=_by_type(overview),
            vitals=seen.vitals,
            cluster=seen.cluster,
            failures=sorted(failures, key=_at, reverse=True)[:_MOST_FAILURES],
        )
        return page.encode("utf-8", "replace")


def page_file(name: str) -> bytes:
    """Give the bytes of a file that the page refers to."""
    return (_FOLDER / name).read_bytes()


@cache
def _template() -> "Template":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # The names that the page shows are anybody's: all of them are escaped.
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(count=_count, duration=_duration, bytes=_bytes, moment=_moment, bars=_bars)
    return environment.get_template("page.html")


def _at(failure: Failure) -> int:
    return failure.at


def _by_type(overview: Overview) -> dict[str, dict[str, int]]:
    """Give the runs of each type by status."""
    found: dict[str, dict[str, int]] = {}
    for count in overview.flows:
        found.setdefault(count.type, {})[count.status] = count.runs
    return found


def _count(number: int) -> str:
    return f"{number:,}+" if number >= MOST_COUNTED else f"{number:,}"


def _duration(seconds: float) -> str:
    """Write a duration in its two largest units."""
    left = int(seconds)
    parts: list[str] = []
    for unit, size in _UNITS:
        if left >= size or (unit == "s" and not parts):
            parts.append(f"{left // size} {unit}")
            left %= size
    return " ".join(parts[:2])


def _bytes(number: float) -> str:
    unit = 0
    while number >= 1024 and unit < len(_BYTES) - 1:
        number, unit = number / 1024, unit + 1
    return f"{number:,.0f} {_BYTES[unit]}" if unit == 0 else f"{number:,.1f} {_BYTES[unit]}"


def _moment(seconds: float) -> dict[str, str]:
    """Give a time for machines, and for people."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return {"machine": iso(int(seconds * 1000)), "person": moment.strftime("%Y-%m-%d %H:%M:%S")}


def _bars(found: SyncOverview) -> list[dict[str, Any]]:
    """Give the bars of the chart of ages: label, count, and height as a share of the highest, in percent."""
    limits = [_duration(seconds) for seconds in AGE_LIMITS_SECONDS]
    labels = [*(f"up to {limit}" for limit in limits), f"over {limits[-1]}"]
    highest = max(found.ages)
    return [
        {"label": label, "count": count, "height": max(4, round(100 * count / highest)) if count else 0}
        for label, count in zip(labels, found.ages, strict=True)
    ]
