"""Values that are parts of HTTP: header names and values, methods, causes of a retry.

No message quotes a header's value, because it may contain credentials.
"""

from __future__ import annotations

import re
from typing import Any, Final

from streamweir.http_grammar import TOKEN
from streamweir_gateway.config.diagnostics import InvalidValue, not_this, quoted, suggestion
from streamweir_gateway.config.values.scalars import Scalar, read_text, text_schema

__all__ = [
    "FORWARDED_HEADER",
    "HEADER_NAME",
    "HEADER_VALUE",
    "METHOD",
    "ORDINARY_METHODS",
    "PAGE_HEADER",
    "QUERY_NAME",
    "RETRY_CAUSE",
    "RETURNED_HEADER",
]

_METHODS: Final = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY")
"""All methods that can ask a backend for a stream. CONNECT and TRACE are about the connection."""
ORDINARY_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
"""The methods that messages name if any method is allowed."""
_CONNECT: Final = "connect"

# RFC 9110, section 7.6.1: they speak of one connection, and the gateway has two of its own.
_HOP_BY_HOP: Final = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization"),
        *("proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
    }
)
# The gateway writes them itself. Accept-Encoding: a compressed stream would come late and unbounded.
_OWN_REQUEST: Final = _HOP_BY_HOP | {"host", "content-length", "accept-encoding"}
_OWN_RESPONSE: Final = _HOP_BY_HOP | {
    *("cache-control", "content-encoding", "content-length", "content-type", "host"),
    *("x-accel-buffering", "x-request-id"),
}
_NEVER_TO_CLIENTS: Final = frozenset({"set-cookie", "server", "x-powered-by"})


def _token(value: Any) -> str:
    name = read_text(value)
    if not TOKEN.fullmatch(name):
        raise InvalidValue("must be an HTTP token: letters, digits and !#$%&'*+-.^_`|~")
    return name


def _name_or_pattern(value: Any) -> str:
    """Return a header name, or a pattern: the beginning of a name, followed by `*`."""
    name = _token(value)
    if "*" in name[:-1]:
        raise InvalidValue("has a * that is not at the end: it stands for the rest of a name", not_this(name))
    return name


def _forwarded_header(value: Any) -> str:
    return _request_header(_name_or_pattern(value))


def _returned_header(value: Any) -> str:
    return _response_header(_name_or_pattern(value))


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
    """Return the value without surrounding blanks, which are not part of a header's value."""
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


def _retry_cause(value: Any) -> int | str:
    if value == _CONNECT:
        return _CONNECT
    status = int(value) if isinstance(value, str) and re.fullmatch("[0-9]{3}", value) else value
    if isinstance(status, bool) or not isinstance(status, int) or not 400 <= status <= 599:
        raise InvalidValue("must be connect or an HTTP status from 400 to 599", not_this(value))
    return status


_TOKEN_SCHEMA: Final = text_schema(f"^{TOKEN.pattern}$")

HEADER_NAME: Final = Scalar(_request_header, _TOKEN_SCHEMA)
FORWARDED_HEADER: Final = Scalar(_forwarded_header, _TOKEN_SCHEMA)
HEADER_VALUE: Final = Scalar(_header_value, {"type": "string"})
RETURNED_HEADER: Final = Scalar(_returned_header, _TOKEN_SCHEMA)
METHOD: Final = Scalar(_method, _TOKEN_SCHEMA)
QUERY_NAME: Final = Scalar(_query_name, text_schema())
PAGE_HEADER: Final = Scalar(_token, _TOKEN_SCHEMA)
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
