"""Makes the hint about a refused request of a page whose cookies the endpoint does not forward.

The hint contains neither the name nor the value of a cookie.

Source: the configuration contract ("When a stream is not understood").
"""

from __future__ import annotations

from streamweir.http.headers import HeaderList, header_values

__all__ = ["cookie_hint", "is_foreign_page", "sends_cookies"]


def cookie_hint(headers: HeaderList, *, allows_cookies: bool) -> str:
    """Return the hint. The caller has checked that the endpoint forwards no cookies.

    Args:
        headers: the headers of the client's request.
        allows_cookies: whether `cors` has `credentials: true`.
    """
    hint = "cookies are not passed on here: relay: all (or forward_headers: [Cookie])"
    if allows_cookies or not is_foreign_page(headers):
        return hint
    return f"{hint}; cors has no credentials: true"


def sends_cookies(headers: HeaderList) -> bool:
    """Return whether a request has cookies."""
    return bool(header_values(headers, b"cookie"))


def is_foreign_page(headers: HeaderList) -> bool:
    """Return whether a browser marks the request as that of a page of another origin."""
    sites = header_values(headers, b"sec-fetch-site")
    return bool(header_values(headers, b"origin")) and sites not in ([], ["same-origin"])
