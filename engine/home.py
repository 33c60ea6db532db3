"""The process in which an engine was opened: a fork has a copy of it that nothing can be done with.

The threads that held its locks and led its commits are not there, and SQLite's connections must not be used.
"""

import os

from dex.wcl.errors import Unavailable


class _Forks:
    """How often this process is a fork: counted once for each, so that asking costs no call of the system."""

    count = 0

    @classmethod
    def add(cls) -> None:
        cls.count += 1


os.register_at_fork(after_in_child=_Forks.add)


class Home:
    """The process in which this was made."""

    __slots__ = ("_forks",)

    def __init__(self) -> None:
        self._forks = _Forks.count

    @property
    def is_here(self) -> bool:
        """Tell whether this is still that process."""
        return self._forks == _Forks.count

    def check(self) -> None:
        """Refuse to go on in a fork.

        Raises:
            Unavailable: this is one.
        """
        if self._forks != _Forks.count:
            raise Unavailable("this client was opened in another process, before a fork", "open a new client here")
