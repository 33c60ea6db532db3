"""Headers that every response has, unless its route gives its own (spec: K-02)."""

Headers = list[tuple[bytes, bytes]]

SECURITY: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


def with_security(headers: Headers) -> Headers:
    """Give headers and those of the security ones that are not among them."""
    given = {name for name, _ in headers}
    return headers + [header for header in SECURITY if header[0] not in given]


def first(headers: Headers, name: bytes) -> bytes | None:
    """Give the value of a header that a request has, the first where it has several."""
    return next((value for found, value in headers if found == name), None)
