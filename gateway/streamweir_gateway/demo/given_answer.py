"""Finds the answer to a demo's question in a request to the demo backend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from streamweir import read_request
from streamweir.codec.registry import process_dialects
from streamweir.errors import ConfigurationError
from streamweir.optional_json import json_or
from streamweir.requests.errors import RequestError
from streamweir.requests.messages import text_of_message
from streamweir.requests.reading import parse_body

__all__ = ["GivenAnswer", "answer_in"]

_DECLINES: Final = ("cancel", "reject")


class GivenAnswer(NamedTuple):
    """The answer of a person, or of a client that has run a tool."""

    value: Any
    """The value that the client sent, with its JSON types; None if the person declines."""
    declines: bool = False


def answer_in(body: bytes, dialect: str) -> GivenAnswer | None:
    """Return the answer in a request's body; None if the request asks for a new run.

    At an endpoint with `request: mapped`, the answer has the form of `dialect`. With `passthrough` it has the
    form of the client's protocol, which is unknown here, so every protocol is tried.
    """
    try:
        found = parse_body(body)
    except RequestError:
        return None
    requests = ((name, _read(found, name)) for name in _readable(dialect))
    return next(filter(None, (_answer_of(request, name == dialect) for name, request in requests)), None)


def _readable(dialect: str) -> Iterator[str]:
    """Yield the protocols to try: the demo's own, then the standard protocol, then all others."""
    yield from dict.fromkeys((dialect, "standard", *process_dialects().writable))


def _read(body: Mapping[str, Any], protocol: str) -> Mapping[str, Any]:
    try:
        return read_request(body, protocol=protocol)
    except (RequestError, ConfigurationError):
        return {}


def _answer_of(request: Mapping[str, Any], is_own: bool) -> GivenAnswer | None:
    for answer in request.get("resume", ()):
        action, value = answer["action"], answer.get("value")
        if action in _DECLINES:
            return GivenAnswer(None, declines=True)
        if action == "approve" or value is not None or answer["interaction_id"]:
            return GivenAnswer(True if action == "approve" and value is None else value)
    messages = request.get("messages") or [{}]
    if is_own and messages[-1].get("role") == "tool":
        text = text_of_message(messages[-1])
        return GivenAnswer(json_or(text, text), bool(messages[-1].get("is_error")))
    return None
