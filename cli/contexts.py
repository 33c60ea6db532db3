"""Contexts: named settings kept in the configuration file."""

from typing import Any

from dex.cli import configfile
from dex.cli.session import Session
from dex.cli.settings import shown_setting
from dex.wcl.errors import Refused
from dex.wcl.names import did_you_mean


def listed(session: Session) -> list[dict[str, Any]]:
    """Give each context with its settings, secrets hidden, and which is the default."""
    current = session.settings["context"]
    contexts: dict[str, dict[str, str]] = session.settings.config.get("contexts", {})
    return [{"name": name, "current": name == current, "settings": shown(given)} for name, given in contexts.items()]


def shown(given: dict[str, str]) -> dict[str, Any]:
    """Give the settings of a context as they are told to people, secrets hidden (spec: X-01)."""
    return {name: shown_setting(name, value) for name, value in given.items()}


def change(session: Session, **entries: Any) -> None:
    """Set entries of the configuration file, or remove those that are None, and write it."""
    config = {**session.settings.config, **entries}
    kept = {name: value for name, value in config.items() if value not in (None, {})}
    configfile.save(session.settings.config_path, kept)


def existing(session: Session, name: str) -> dict[str, dict[str, str]]:
    """Give all contexts, of which `name` is one.

    Raises:
        Refused: it is not.
    """
    contexts: dict[str, dict[str, str]] = session.settings.config.get("contexts", {})
    if name not in contexts:
        hint = did_you_mean(name, contexts) or "`dex context list` shows those there are"
        raise Refused(f"there is no context {name!r}", hint, context=name)
    return contexts
