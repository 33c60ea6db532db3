"""Connection strings, kept secret: only `reveal` gives one as it is (spec: Y-03, case 25).

Host and database may be shown, so that a person knows which server is meant; passwords never, whether plain,
percent-encoded, in `key=value` form or as a query parameter.
"""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_plus, unquote

from dex.wcl.errors import DexError, InputError

_ENVIRONMENT = "DEX_ZD_ATTRIBUTE_STORE_DSN_"
HIDDEN = "***"
_SECRET_KEYS = frozenset({"password", "sslpassword", "oauth_client_secret", "scram_client_key"})
_USERINFO = re.compile(r"(://[^\s/:@]*):\S*@")
_ASSIGNMENT = re.compile(r"\b(\w*(?:password|secret|scram_\w+_key))(\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)", re.IGNORECASE)


class Dsn:
    """A PostgreSQL connection string that does not show in messages, logs or tracebacks."""

    __slots__ = ("_secrets", "_text", "target")

    def __init__(self, text: str) -> None:
        """Check a connection string.

        Raises:
            InputError: PostgreSQL cannot read it; its text is not repeated.
            DexError: psycopg is not installed.
        """
        parameters = _parameters(text)
        _check_shown_parts(text, parameters)
        self._text = text
        self._secrets = _spellings(str(parameters[key]) for key in _SECRET_KEYS if parameters.get(key))
        host = parameters.get("host") or parameters.get("hostaddr") or "localhost"
        self.target = f"{host}:{parameters.get('port') or 5432}/{parameters.get('dbname') or ''}"

    def reveal(self) -> str:
        """Give the connection string itself, for connecting and nothing else."""
        return self._text

    def redact(self, text: str) -> str:
        """Give a message of the driver without this connection string or its secrets."""
        text = text.replace(self._text, self.target)
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return redact(text)

    def __repr__(self) -> str:
        return f"Dsn({self.target})"

    __str__ = __repr__


def redact(text: str) -> str:
    """Hide what looks like a password in a text of unknown origin: `:secret@` of a URL and `password=secret`."""
    return _ASSIGNMENT.sub(rf"\1\2{HIDDEN}", _USERINFO.sub(rf"\1:{HIDDEN}@", text))


def dsn_variable(store: str) -> str:
    """Give the environment variable of a store's DSN: the name in upper case, other characters as `_` (spec: Y-03)."""
    return _ENVIRONMENT + "".join(letter.upper() if letter.isascii() and letter.isalnum() else "_" for letter in store)


def _parameters(text: str) -> dict[str, str | int | None]:
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise DexError("sync needs psycopg, which is not installed", "install dex with its extra `postgres`") from error
    try:
        parameters = dict(conninfo_to_dict(text))
        for port in str(parameters.get("port") or "").split(","):
            int(port or 0)
    except (ProgrammingError, ValueError):
        # libpq's message repeats parts of the string, the password among them, so it is not chained either.
        raise InputError(
            "this is not a PostgreSQL connection string", "write postgresql://user@host:5432/database"
        ) from None
    return parameters


def _check_shown_parts(text: str, parameters: Mapping[str, str | int | None]) -> None:
    """Refuse a string of which libpq takes a part of the password for the host, port or database, which are shown."""
    if "://" in str(parameters.get("dbname")):
        raise InputError("the dbname of this connection string is another one", "write its parts beside the others")
    scheme, _, rest = text.partition("://")
    authority, _, path = rest.partition("?")[0].partition("/")
    if scheme in ("postgresql", "postgres") and (authority.count("@") > 1 or "@" in path):
        raise InputError("this connection string has an @ too many", "write @ and / in a password as %40 and %2F")


def _spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """Give every way that a secret may be written, the longest first, so that no part of one is left."""
    found: set[str] = set()
    for secret in secrets:
        found |= {secret, unquote(secret), repr(secret)[1:-1]}
        found |= {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    return tuple(sorted(found - {""}, key=len, reverse=True))
