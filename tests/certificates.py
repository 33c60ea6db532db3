"""Certificates for tests, made anew by OpenSSL."""

import subprocess
from pathlib import Path
from typing import NamedTuple


class Pair(NamedTuple):
    """A certificate of 127.0.0.1 and its key, both PEM."""

    certificate: Path
    key: Path


def make_pair(directory: Path, name: str = "server", password: str | None = None) -> Pair:
    """Make a certificate that signs itself."""
    pair = Pair(directory / f"{name}.pem", directory / f"{name}.key")
    encrypted = ["-noenc"] if password is None else ["-passout", f"pass:{password}"]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2"]
    files = ["-keyout", pair.key, "-out", pair.certificate]
    subprocess.run(["openssl", "req", "-x509", *kind, *encrypted, *names, *files], check=True, capture_output=True)
    return pair
