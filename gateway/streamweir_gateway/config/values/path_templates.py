"""Path templates such as `/support/{agent_id}/chat`, of endpoints and of upstreams."""

from __future__ import annotations

import re
from typing import Final

from streamweir_gateway.config.diagnostics import InvalidValue
from streamweir_gateway.config.values.scalars import OFF_SCHEMA, Scalar, is_off, text_schema

__all__ = [
    "ENDPOINT_PATH",
    "OPEN_END",
    "PATH_OR_OFF",
    "REST",
    "UPSTREAM_PATH",
    "is_open",
    "join_path",
    "placeholders",
    "shape",
]

OPEN_END: Final = "/*"
"""The end of an endpoint's path that matches any rest."""
REST: Final = "rest"
"""The name of the value of `/*`, for use in `path`."""

_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def placeholders(template: str) -> tuple[str, ...]:
    """Return the names in the braces of `template`, in order.

    Raises:
        InvalidValue: a brace is unpaired, or a name is not an identifier.
    """
    literal = _PLACEHOLDER.sub("", template)
    if "{" in literal or "}" in literal:
        raise InvalidValue("has a brace without its partner")
    names = tuple(_PLACEHOLDER.findall(template))
    for name in names:
        if not _NAME.fullmatch(name):
            raise InvalidValue("has a name in braces that is not letters, digits and _")
    return names


def is_open(template: str) -> bool:
    """Return whether the path of an endpoint ends in `/*`."""
    return template.endswith(OPEN_END)


def shape(template: str) -> str:
    """Return the template without its names. Templates with equal shapes match the same paths."""
    return _PLACEHOLDER.sub("{}", template)


def join_path(base: str, path: str | None) -> str:
    """Return an upstream's URL with an endpoint's path appended; without a path, the URL unchanged."""
    return base if path is None else base.rstrip("/") + path


def _endpoint_path(value: object) -> str:
    if isinstance(value, str) and not value.startswith("/"):
        raise InvalidValue(
            "must be a path that begins with /; a key of an endpoint is indented under its path"
        )
    template = _read_path(value)
    if "${" in template:
        raise InvalidValue("holds `${`, but nothing is filled in in a key")
    if "?" in template:
        raise InvalidValue("must be a path without a query")
    if "%" in template:
        raise InvalidValue("must be written decoded, without %: it is compared with the decoded path")
    *inner, last = template.split("/")
    if "*" in inner or (last.endswith("*") and last != "*"):
        raise InvalidValue("has a * that is not the whole last segment: /* stands for any rest")
    names = placeholders(template)
    if is_open(template) and REST in names:
        raise InvalidValue("has {rest} in braces, which is what /* is called")
    if len(set(names)) < len(names):
        raise InvalidValue("has the same name in braces twice")
    if "}{" in template:
        raise InvalidValue("has two names in braces with nothing between them")
    return template


def _path_or_off(value: object) -> str | None:
    if is_off(value):
        return None
    _read_path(value)
    path = _endpoint_path(value)
    if "{" in path or is_open(path):
        raise InvalidValue("must be a path without names in braces and without /*")
    return path


def _upstream_path(value: object) -> str:
    template = _read_path(value)
    if not template.isascii() or " " in template:
        raise InvalidValue("must be percent-encoded: it holds a space or a character that is not ASCII")
    placeholders(template)
    return template


def _read_path(value: object) -> str:
    if not isinstance(value, str) or not value.startswith("/"):
        raise InvalidValue("must be a path that begins with /")
    if "#" in value:
        raise InvalidValue("must be a path without a fragment (#)")
    if not value.isprintable():
        raise InvalidValue("has a character that cannot be printed")
    if {".", ".."} & set(value.partition("?")[0].split("/")):
        raise InvalidValue("has a segment . or .., which HTTP clients take out of a path")
    return value


ENDPOINT_PATH: Final = Scalar(_endpoint_path, text_schema("^/"), is_key=True)
"""The path of an endpoint, the key under `endpoints`."""
UPSTREAM_PATH: Final = Scalar(_upstream_path, text_schema("^/"))
"""The path at the upstream, which may have a query."""
PATH_OR_OFF: Final = Scalar(_path_or_off, {"anyOf": [text_schema("^/"), OFF_SCHEMA]}, stand_in=None)
"""A path of the gateway itself, or `off`."""
