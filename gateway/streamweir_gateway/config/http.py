"""Values that are parts of HTTP: header names and values, methods, URLs, the address to listen on.

No message quotes a header's value or a URL: both may hold credentials.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from streamweir_gateway.config.diagnostics import InvalidValue, not_this, quoted, suggestion
from streamweir_gateway.config.scalars import Scalar, read_text, text_schema

__all__ = [
    "CALLER_NAME",
    "HEADER_NAME",
    "HEADER_VALUE",
    "LISTEN",
    "METHOD",
    "NEEDS_AUTH",
    "QUERY_NAME",
    "RESPONSE_HEADER_NAME",
    "RETRY_CAUSE",
    "UPSTREAM_NAME",
    "UPSTREAM_REFERENCE",
    "UPSTREAM_URL",
    "Address",
    "demo_dialect",
    "is_loopback",
    "is_url",
]

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_LISTEN: Final = re.compile(r"(?:\[([^\[\]]+)\]|([A-Za-z0-9_.-]+)):([0-9]{1,5})")
_METHODS: Final = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY")
"""All that can ask a backend for a stream; CONNECT and TRACE are about the connection."""
_DEMO: Final = "demo:"
_CONNECT: Final = "connect"
NEEDS_AUTH: Final = (
    "anybody could call: name `auth.keys`, or write `auth: open` on purpose,"
    " or listen on a loopback address (127.0.0.1, [::1], localhost)"
)

# RFC 9110, section 7.6.1: they speak of one connection, and the gateway has two of its own.
_HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# The gateway writes them itself. Accept-Encoding: a compressed stream would come late and unbounded.
_OWN_REQUEST: Final = _HOP_BY_HOP | {"host", "content-length", "accept-encoding"}
_OWN_RESPONSE: Final = _HOP_BY_HOP | {
    "cache-control",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "x-accel-buffering",
    "x-request-id",
}
_NEVER_TO_CLIENTS: Final = frozenset({"set-cookie", "server", "x-powered-by"})


class Address(NamedTuple):
    """Where the gateway listens."""

    host: str
    port: int


def _token(value: Any) -> str:
    name = read_text(value)
    if not _TOKEN.fullmatch(name):
        raise InvalidValue("must be an HTTP token: letters, digits and !#$%&'*+-.^_`|~")
    return name


def _request_header(value: Any) -> str:
    name = _token(value)
    if name.lower() in _OWN_REQUEST:
        raise InvalidValue("this header belongs to the connection: the gateway writes it itself")
    return name


def _response_header(value: Any) -> str:
    name = _token(value)
    if name.lower() in _NEVER_TO_CLIENTS:
        raise InvalidValue("this header of an upstream is never passed on to clients")
    if name.lower() in _OWN_RESPONSE:
        raise InvalidValue("this header belongs to the connection: the gateway writes it itself")
    return name


def _header_value(value: Any) -> str:
    """Return the value without the blanks around it, which HTTP does not count as part of it."""
    if not isinstance(value, str):
        raise InvalidValue("must be a string; put it in quotes")
    text = value.strip(" \t")
    if any(character in text for character in "\r\n\0"):
        raise InvalidValue("must be one line: it holds a line break or a NUL")
    if not text.isascii() or not text.replace("\t", " ").isprintable():
        raise InvalidValue("must be printable ASCII")
    return text


def _method(value: Any) -> str:
    method = _token(value).upper()
    if method not in _METHODS:
        raise InvalidValue("unknown HTTP method", f" {quoted(value)}{suggestion(method, _METHODS)}")
    return method


def _query_name(value: Any) -> str:
    name = read_text(value)
    if not name.isprintable():
        raise InvalidValue("has a character that cannot be printed")
    return name


def is_url(text: str) -> bool:
    """Tell whether `text` is meant as a URL, be it a good one or not."""
    return "://" in text


def demo_dialect(text: str) -> str | None:
    """Return the dialect of `demo:<dialect>`; None for anything else."""
    return text.removeprefix(_DEMO) if text.startswith(_DEMO) else None


def _upstream_url(value: Any) -> str:
    text = read_text(value)
    if demo_dialect(text) is None:
        _check_url(text)
    return text


def _upstream_reference(value: Any) -> str:
    """Read a URL, `demo:<dialect>` or a name; whether the name is one of `upstreams` is not known here."""
    text = read_text(value)
    if is_url(text):
        _check_url(text)
    elif demo_dialect(text) is None and not _NAME.fullmatch(text):
        raise InvalidValue(
            "must be a URL that begins with http:// or https://, a name of `upstreams` or demo:<dialect>"
        )
    return text


def _retry_cause(value: Any) -> int | str:
    if value == _CONNECT:
        return _CONNECT
    status = int(value) if isinstance(value, str) and re.fullmatch("[0-9]{3}", value) else value
    if isinstance(status, bool) or not isinstance(status, int) or not 400 <= status <= 599:
        raise InvalidValue("must be connect or an HTTP status from 400 to 599", not_this(value))
    return status


def _name(value: Any) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise InvalidValue("must be a name of letters, digits and _ . -")
    return value


def _check_url(text: str) -> None:
    try:
        url = urlsplit(text)
        host, port = url.hostname, url.port
    except ValueError:
        raise InvalidValue("must be a URL: its host or port cannot be read") from None
    faults = {
        "must be a URL that begins with http:// or https://": url.scheme not in {"http", "https"},
        "must be a URL with a host": not host,
        "must be a URL with a port from 1 to 65535": port == 0,
        "must be a URL without a fragment (#)": "#" in text,
        "must be a URL without braces; {names} stand in the endpoint's `path`": "{" in text or "}" in text,
        "must be a URL of printable ASCII without spaces": not re.fullmatch(r"[!-\[\]-~]*", text),
    }
    for message, found in faults.items():
        if found:
            raise InvalidValue(message)


def _listen(value: Any) -> Address:
    match = _LISTEN.fullmatch(value) if isinstance(value, str) else None
    if match is None or int(match[3]) > 65535 or (match[1] and not _ip(match[1])):
        raise InvalidValue("must be HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080")
    return Address(match[1] or match[2], int(match[3]))


def is_loopback(address: Address) -> bool:
    """Tell whether only programs on this machine can reach `address`."""
    ip = _ip(address.host)
    return ip.is_loopback if ip else address.host.lower() == "localhost"


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


_TOKEN_SCHEMA: Final = text_schema(r"^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$")
_NAME_SCHEMA: Final = text_schema("^[A-Za-z0-9][A-Za-z0-9_.-]*$")

HEADER_NAME: Final = Scalar(_request_header, _TOKEN_SCHEMA)
HEADER_VALUE: Final = Scalar(_header_value, {"type": "string"})
RESPONSE_HEADER_NAME: Final = Scalar(_response_header, _TOKEN_SCHEMA)
METHOD: Final = Scalar(_method, _TOKEN_SCHEMA)
QUERY_NAME: Final = Scalar(_query_name, text_schema())
RETRY_CAUSE: Final = Scalar(
    _retry_cause,
    {
        "anyOf": [
            {"type": "integer", "minimum": 400, "maximum": 599},
            {"enum": [_CONNECT]},
            text_schema("^[45][0-9]{2}$"),
        ]
    },
)
UPSTREAM_NAME: Final = Scalar(_name, _NAME_SCHEMA, is_key=True)
CALLER_NAME: Final = UPSTREAM_NAME
UPSTREAM_URL: Final = Scalar(_upstream_url, text_schema("^(https?://|demo:)"))
UPSTREAM_REFERENCE: Final = Scalar(_upstream_reference, text_schema())
LISTEN: Final = Scalar(
    _listen, text_schema(r"^(\[[^\]]+\]|[^\[\]:]+):[0-9]{1,5}$"), stand_in=Address("127.0.0.1", 0)
)
