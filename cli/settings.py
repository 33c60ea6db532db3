"""Settings: each from its flag, else environment, context, file, or a default (spec: X-01).

A new setting is a row of SETTINGS; `dex config show` and the keys of the file and its contexts follow from it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dex.cli import configfile
from dex.cli.color import color_variable
from dex.wcl.durations import format_duration, parse_duration
from dex.wcl.errors import DexError, InputError
from dex.wcl.names import did_you_mean

FORMATS = ("table", "json", "ndjson", "yaml", "csv")
COLORS = ("auto", "always", "never")
JOURNAL_MAX_BYTES = 256 * 1024 * 1024
JOURNAL_MAX_AGE_SECONDS = 7 * 24 * 3600.0

Environ = Mapping[str, str]


class Setting(NamedTuple):
    """One setting: its name, which is also its flag and its key in the file, and how its text is read."""

    name: str
    variable: Callable[[Environ], tuple[str, str] | None]
    parse: Callable[[str], Any]
    default: Callable[[Environ], Any]
    secret: bool = False


class Resolved(NamedTuple):
    """A setting's value and where it comes from; `explicit` is false for a default."""

    value: Any
    origin: str
    explicit: bool = True


def _output(text: str) -> str:
    return _choice(text, FORMATS, "output format")


def _color(text: str) -> str:
    return _choice(text, COLORS, "colour mode")


def _choice(text: str, allowed: tuple[str, ...], what: str) -> str:
    if text in allowed:
        return text
    hint = did_you_mean(text, allowed)
    remedy = f"{hint} use one of {', '.join(allowed)}".strip()
    raise InputError(f"{text!r} is not an {what}" if what[0] in "aeiou" else f"{text!r} is not a {what}", remedy)


def _bytes(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise InputError(f"{text!r} is not a number of bytes", "write a whole number above zero")
    return int(text)


def _path(text: str) -> str:
    if not text:
        raise InputError("the path is empty", "write one, or leave the setting out")
    try:
        return str(Path(text).expanduser().absolute())
    except RuntimeError as error:
        raise InputError(f"{text!r} has no home directory", "write the path in full") from error


def _endpoints(text: str) -> str:
    from dex.engine.remote.endpoints import parse_endpoints

    return ",".join(endpoint.url for endpoint in parse_endpoints(text))


def _token(text: str) -> str:
    if not text or not all("!" <= character <= "~" for character in text):
        raise InputError(
            "the token is empty or has a space or a character that is not ASCII", "write it as it was given"
        )
    return text


def _sources(text: str) -> list[str]:
    """Read the sources of Flow definitions, with commas between them."""
    sources = [source.strip() for source in text.split(",")]
    if not all(sources):
        raise InputError(f"{text!r} has an empty name", "write files or modules with commas between them")
    return sources


def _data_dir(environ: Environ) -> str:
    return str(configfile.base_dir(environ, "XDG_DATA_HOME", ".local/share") / "dex")


def _none(_environ: Environ) -> None:
    return None


def _variable(name: str) -> Callable[[Environ], tuple[str, str] | None]:
    """Read an environment variable; an empty one counts as unset."""
    return lambda environ: (environ[name], name) if environ.get(name) else None


SETTINGS = (
    Setting("data-dir", _variable("DEX_DATA_DIR"), _path, _data_dir),
    Setting("endpoint", _variable("DEX_ENDPOINT"), _endpoints, _none),
    Setting("token", _variable("DEX_TOKEN"), _token, _none, secret=True),
    Setting("output", _variable("DEX_OUTPUT"), _output, _none),
    Setting("timeout", _variable("DEX_TIMEOUT"), parse_duration, _none),
    Setting("sync-config", _variable("DEX_SYNC_CONFIG"), _path, _none),
    Setting("flows", _variable("DEX_FLOWS"), _sources, lambda _environ: []),
    Setting("color", color_variable, _color, lambda _environ: "auto"),
    Setting("journal-max-bytes", _none, _bytes, lambda _environ: JOURNAL_MAX_BYTES),
    Setting("journal-max-age", _none, parse_duration, lambda _environ: JOURNAL_MAX_AGE_SECONDS),
)
KNOWN = frozenset(setting.name for setting in SETTINGS)
_SECRET = frozenset(setting.name for setting in SETTINGS if setting.secret)


class Settings:
    """The settings of one command."""

    def __init__(self, values: dict[str, Resolved], config_path: str, config: dict[str, Any]) -> None:
        self.values = values
        self.config_path = config_path
        self.config = config

    def __getitem__(self, name: str) -> Any:
        """Give a setting's value, None where nobody set it and there is no default."""
        return self.values[name].value

    def rows(self) -> list[dict[str, Any]]:
        """Give setting, value and origin of each, secrets hidden (spec: X-01)."""
        return [
            {"setting": name, "value": shown_setting(name, found.value), "origin": found.origin}
            for name, found in self.values.items()
        ]


def shown_setting(name: str, value: Any) -> Any:
    """Give a setting's value as it is told to people, a secret hidden."""
    if name in _SECRET and value is not None:
        return "***"
    return format_duration(value) if isinstance(value, float) else value


def resolve(flags: Mapping[str, str], environ: Environ) -> Settings:
    """Find every setting; `flags` are the global options that were given, by name.

    Raises:
        InputError: a value cannot be read, naming where it comes from; an unknown context; a bad file.
    """
    path, path_origin, required = _config_path(flags, environ)
    config = configfile.load(path, required=required, known=KNOWN)
    context, context_origin = _context_name(flags, environ, config, path)
    overlay = _context(context, context_origin, config, path)
    values = {"config": Resolved(path, path_origin), "context": Resolved(context, context_origin)}
    for setting in SETTINGS:
        values[setting.name] = _resolve_one(setting, flags, environ, (context, overlay), config, path)
    return Settings(values, path, config)


def _config_path(flags: Mapping[str, str], environ: Environ) -> tuple[str, str, bool]:
    if flags.get("config"):
        return flags["config"], "flag --config", True
    if environ.get("DEX_CONFIG"):
        return environ["DEX_CONFIG"], "environment DEX_CONFIG", True
    return str(configfile.default_path(environ)), "default", False


def _context_name(
    flags: Mapping[str, str], environ: Environ, config: dict[str, Any], path: str
) -> tuple[str | None, str]:
    if flags.get("context"):
        return flags["context"], "flag --context"
    if environ.get("DEX_CONTEXT"):
        return environ["DEX_CONTEXT"], "environment DEX_CONTEXT"
    if config.get("context"):
        return config["context"], f"file {path}"
    return None, "default"


def _context(name: str | None, origin: str, config: dict[str, Any], path: str) -> dict[str, str]:
    if name is None:
        return {}
    contexts: dict[str, dict[str, str]] = config.get("contexts", {})
    if name not in contexts:
        hint = did_you_mean(name, contexts) or "add it with `dex context add`"
        if origin.startswith("file "):
            where, facts = _place(path, "context")
            raise InputError(f"{where}: there is no context {name!r}", hint, context=name, **facts)
        raise InputError(f"there is no context {name!r} in {path} ({origin})", hint, context=name)
    return contexts[name]


def _resolve_one(
    setting: Setting,
    flags: Mapping[str, str],
    environ: Environ,
    context: tuple[str | None, dict[str, str]],
    config: dict[str, Any],
    path: str,
) -> Resolved:
    name = setting.name
    if flags.get(name, "auto") != "auto":
        return _parsed(setting, flags[name], f"flag --{name}")
    variable = setting.variable(environ)
    if variable is not None:
        return _parsed(setting, variable[0], f"environment {variable[1]}")
    if name in context[1]:
        return _parsed(setting, context[1][name], f"context {context[0]}", path, "contexts", str(context[0]), name)
    if name in config:
        return _parsed(setting, config[name], f"file {path}", path, name)
    return Resolved(setting.default(environ), "default", explicit=False)


def chosen_endpoint(settings: Settings) -> str | None:
    """Give the address of the server that is the target, or None for the embedded engine (spec: X-01).

    Where both a server and a data directory are set, the one that is set nearer to the command counts.

    Raises:
        InputError: both are set at the same place.
    """
    server, directory = settings.values["endpoint"], settings.values["data-dir"]
    if server.value is None or not directory.explicit:
        return server.value  # type: ignore[no-any-return]  # text, as `_endpoints` gives it
    ranks = [_NEAREST.index(found.origin.split()[0]) for found in (server, directory)]
    if ranks[0] == ranks[1]:
        raise InputError(
            f"both an endpoint and a data directory are set ({server.origin}, {directory.origin})", "set one of them"
        )
    return server.value if ranks[0] < ranks[1] else None


_NEAREST = ("flag", "environment", "context", "file")


def early_timeout(flags: Mapping[str, str], environ: Environ) -> float | None:
    """Give the time limit that flag or environment set: one that covers the reading of the file too.

    Raises:
        InputError: it cannot be read.
    """
    timeout = next(setting for setting in SETTINGS if setting.name == "timeout")
    seconds: float | None = _resolve_one(timeout, flags, environ, (None, {}), {}, "").value
    return seconds


def check_setting(name: str, text: str) -> None:
    """Refuse what could not be read from the configuration file later.

    Raises:
        InputError: there is no such setting, or `text` is no value of it.
    """
    check_name(name)
    next(setting for setting in SETTINGS if setting.name == name).parse(text)


def check_name(name: str) -> None:
    """Refuse a setting that there is none of.

    Raises:
        InputError: with the nearest one.
    """
    if name not in KNOWN:
        raise InputError(f"unknown setting {name!r}", did_you_mean(name, KNOWN) or f"known: {', '.join(sorted(KNOWN))}")


def _parsed(setting: Setting, text: str, origin: str, path: str = "", *keys: str) -> Resolved:
    """Read a setting's text; what comes from the file stands there under `keys`."""
    try:
        return Resolved(setting.parse(text), origin)
    except DexError as error:
        message = f"{setting.name}: {error.message}"
        if not keys:
            raise InputError(f"{message} ({origin})", error.remedy, **error.facts) from error
        where, facts = _place(path, *keys)
        raise InputError(f"{where}: {message}", error.remedy, **{**error.facts, **facts}) from error


def _place(path: str, *keys: str) -> tuple[str, dict[str, Any]]:
    """Give where an entry of the file stands, for a message and as facts."""
    line = configfile.line_of_entry(path, *keys)
    return (path, {"file": path}) if line is None else (f"{path}:{line}", {"file": path, "line": line})
