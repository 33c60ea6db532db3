"""YAML, one document for each result."""

from typing import Any

import yaml

_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def yaml_document(data: Any) -> bytes:
    """Give a result as a YAML document that starts with `---`, so that several can follow each other."""
    text = yaml.dump(data, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, explicit_start=True)
    return str(text).encode()
