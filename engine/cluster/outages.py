"""What a node's log says of something that fails again and again: when it begins, now and then, and when it is over."""

import logging
import time

_log = logging.getLogger("dex.cluster")
_AGAIN_SECONDS = 30.0


class Outage:
    """Something that may fail for a while. `patience` is for how many seconds it may before that is told."""

    def __init__(self, what: str, patience: float = 0.0) -> None:
        self._what = what
        self._patience = patience
        self._began: float | None = None
        self._told: float | None = None

    def goes_on(self, why: str) -> None:
        """Say that it fails, unless that was said lately."""
        now = time.monotonic()
        if self._began is None:
            self._began = now
        is_time = self._told is None or now - self._told >= _AGAIN_SECONDS
        if is_time and now - self._began >= self._patience:
            since = "" if self._told is None else f", for {now - self._began:.0f} s now"
            self._told = now
            _log.warning("%s: %s%s", self._what, why, since)

    def is_over(self) -> None:
        """Say that it works again, where it was said that it does not."""
        if self._told is not None and self._began is not None:
            _log.warning("%s: works again after %.0f s", self._what, time.monotonic() - self._began)
        self._began = self._told = None
