"""Headers that every reply carries."""

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' blob: data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
SECURITY_HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)


def has_tag(given: str | None, etag: str) -> bool:
    """Say whether If-None-Match names the current tag.

    >>> has_tag('W/"a", "b"', '"b"'), has_tag('"c"', '"b"'), has_tag("*", '"b"')
    (True, False, True)
    """
    if given is None:
        return False
    tags = [each.strip().removeprefix("W/") for each in given.split(",")]
    return given.strip() == "*" or etag.removeprefix("W/") in tags
