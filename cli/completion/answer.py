"""Answers `dex __complete SHELL WORD…` (spec: X-06).

Each line of the answer is a candidate, for some shells with a tab and its help. The single line `:file` leaves the
word to the shell's own completion of paths. Nothing is ever written to standard error, and no error is one here.
"""

import sys
from collections.abc import Iterator

from dex.cli.completion.tree import GLOBAL, GROUPS, LEAVES, ROOT

FILE = ":file"
_PATHS = ("FILE", "DIR", "FILE_OR_MODULE")
_CHOICES = {
    "FORMAT": ("table", "json", "ndjson", "yaml", "csv"),
    "MODE": ("auto", "always", "never"),
    "SHELL": ("bash", "zsh", "fish", "powershell"),
    "ndjson|csv": ("ndjson", "csv"),
    "AGE": ("1m", "5m", "1h"),
    "DURATION": ("10s", "30s", "1m", "5m"),
    "fail|cancel|handler": ("fail", "cancel", "handler"),
    "cancel|fail|terminate": ("cancel", "fail", "terminate"),
    "STATUS": ("running", "completed", "failed", "canceled", "terminated"),
    "POLICY": ("default", "allow-if-previous-failed", "allow-if-not-running", "allow-terminate-if-running", "disallow"),
    "PLACE": ("beginning", "event:", "time:", "step:", "step-execution:"),
}
_KEY_KINDS = ("NAMED_KEY", "NAMED_KEY=V", "NAMED_KEY=FIELD")
_FLOW_KINDS = ("FLOW_ID", "RUN_ID", "TYPE", "RPC", "STEP", "ATTRIBUTE", "ATTRIBUTE=V", "CHANNEL")

Candidates = list[tuple[str, str]]


def complete(args: list[str]) -> int:
    """Write the candidates for the last word; `args` are the shell's name and the words, or bash's line."""
    shell, words = args[0] if args else "", args[1:]
    if shell == "bash":
        from dex.cli.completion.words import split_line

        words = split_line(words[0] if words else "")
    found = candidates(words[1:] or [""])
    described = shell != "bash"
    lines = [f"{name}\t{text}" if described and text else name for name, text in found]
    sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode(errors="surrogateescape"))
    return 0


def candidates(words: list[str]) -> Candidates:
    """Give what may stand for the last of `words`, which follow `dex`."""
    line = _Line()
    for word in words[:-1]:
        line.take(word)
    return [(name, text) for name, text in line.candidates(words[-1]) if name == FILE or name.startswith(words[-1])]


class _Line:
    """What the words so far mean: the command, its arguments, the options given, and an option that waits."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self.arguments: list[str] = []
        self.given: dict[str, str] = {}
        self.waiting = ""
        self.only_arguments = False

    def take(self, word: str) -> None:
        """Read one whole word."""
        if self.waiting:
            self._give(self.waiting, word)
            self.waiting = ""
        elif word.startswith("-") and len(word) > 1 and not self.only_arguments:
            self._option(word)
        elif " ".join(self.path) in GROUPS:
            self.path.append(word)
        else:
            self.arguments.append(word)

    def _option(self, word: str) -> None:
        name, equals, value = word.partition("=")
        if word == "--":
            self.only_arguments = True
        elif equals:
            self._give(name, value)
        elif self.options().get(name, (None, ""))[0] is not None:
            self.waiting = name

    def _give(self, name: str, value: str) -> None:
        """Note an option's value; the sources of Flows add up."""
        earlier = self.given.get(name)
        self.given[name] = f"{earlier},{value}" if name == "--flows" and earlier else value

    def options(self) -> dict[str, tuple[str | None, str]]:
        """Give the options that may stand here."""
        own = LEAVES.get(" ".join(self.path), ([], {}))[1]
        return {**own, **GLOBAL, **({} if self.path else ROOT)}

    def candidates(self, word: str) -> Iterator[tuple[str, str]]:
        """Give what may stand here; the caller keeps what begins like `word`."""
        options = self.options()
        if self.waiting:
            yield from self._values(options[self.waiting][0] or "", word)
        elif word.startswith("-") and not self.only_arguments:
            name, equals, begun = word.partition("=")
            if equals and name in options:
                for value, text in self._values(options[name][0] or "", begun):
                    yield (value if value == FILE else f"{name}={value}"), text
                return
            for option, (_, text) in options.items():
                yield option, text
        elif " ".join(self.path) in GROUPS:
            yield from GROUPS[" ".join(self.path)].items()
        else:
            yield from self._argument(word)

    def _argument(self, word: str) -> Iterator[tuple[str, str]]:
        kinds = LEAVES.get(" ".join(self.path), ([], {}))[0]
        if len(self.arguments) < len(kinds):
            yield from self._values(kinds[len(self.arguments)].removesuffix("..."), word)
        elif kinds and kinds[-1].endswith("..."):
            yield from self._values(kinds[-1].removesuffix("..."), word)

    def _values(self, kind: str, word: str) -> Iterator[tuple[str, str]]:
        """Give the values of a metavar."""
        if kind in _PATHS:
            yield FILE, ""
        elif kind in ("STORE", "FEED", "CONTEXT", "ATTRIBUTE_STORE", "NODE"):
            from dex.cli.completion.live import live_names

            yield from ((name, "") for name in live_names(kind, self.given))
        elif kind in _KEY_KINDS:
            from dex.cli.completion.live import key_names

            yield from ((name, "") for name in key_names(kind, self.given, self.arguments[0] if self.arguments else ""))
        elif kind in _FLOW_KINDS:
            from dex.cli.completion.live import flow_names

            flow_id = self.arguments[0] if self.arguments else ""
            yield from ((name, "") for name in flow_names(kind, self.given, flow_id, word))
        else:
            yield from ((choice, "") for choice in _CHOICES.get(kind, ()))
