"""Turns a client's body into the canonical request: parses it, reads it by its protocol, checks the whole.

Source: the request contract, sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, cast
from urllib.parse import parse_qsl

from streamweir.errors import MalformedEvent
from streamweir.jsontext import parse_json, plain_json
from streamweir.requests.canonical import FIELDS, Message, Request
from streamweir.requests.canonical_reader import read_canonical_answers
from streamweir.requests.errors import RequestError
from streamweir.requests.fields import Fields
from streamweir.requests.messages import check_count, files_of, last_user_index, text_of_message, tool_results
from streamweir.requests.repeated_keys import DECIDING_KEYS, repeated_key
from streamweir.requests.sides import RequestReader

__all__ = ["body_of_query", "parse_body", "read_canonical"]

_MAX_PARAMETERS: Final = 1000
_WRITTEN: Final = (bytes, bytearray, memoryview, str)
_MOST_SHAPES: Final = 200
"""The number of sets of fields whose order is cached."""

_LISTS: Final = frozenset({"files", "attachments"})
"""The parameters of a query that may be given several times."""

_BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False}


def parse_body(body: object) -> dict[str, Any]:
    """Return the JSON object in a body.

    Args:
        body: JSON as bytes or text, or the object itself.

    Raises:
        RequestError: the body is not JSON, not an object, too deep, or has one of `DECIDING_KEYS` twice.
    """
    try:
        if type(body) is bytes:
            data = body
            found = parse_json(data)[0]
        elif isinstance(body, _WRITTEN):
            data = body.encode("utf-8", "replace") if isinstance(body, str) else bytes(body)
            found = parse_json(data)[0]
        else:
            data = b""
            found = plain_json(dict(body)) if isinstance(body, Mapping) else None
    except MalformedEvent as error:
        problem = "nested too deeply" if "deep" in str(error) else "no JSON"
        raise RequestError(f"the body is {problem}") from None
    except ValueError as error:
        raise RequestError(f"the body {error}") from None
    if not isinstance(found, dict):
        raise RequestError("the body must be a JSON object")
    if (repeated := repeated_key(data)) is not None:
        raise _named_twice(repeated)
    return found


def body_of_query(query: str, *, left_out: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the parameters of a query as the object of a body: texts, except `stream` and lists of files."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS)
    except ValueError:
        raise RequestError(f"the query must have at most {_MAX_PARAMETERS} parameters") from None
    names = [name for name, _ in pairs]
    for name in DECIDING_KEYS:
        if names.count(name) > 1:
            raise _named_twice(name)
    found: dict[str, Any] = {name: value for name, value in pairs if name not in left_out}
    if found.get("stream") in _BOOLEANS:
        found["stream"] = _BOOLEANS[found["stream"]]
    for name in _LISTS.intersection(found):
        found[name] = [value for given, value in pairs if given == name]
    return found


def _named_twice(name: str) -> RequestError:
    return RequestError("is named twice", field=name)


def read_canonical(reader: RequestReader, body: Mapping[str, Any]) -> Request:
    """Return the canonical request of a body.

    Raises:
        RequestError: the body cannot be understood, or contains no request.
    """
    fields = Fields(body)
    answers = read_canonical_answers(fields) if "resume" in body else []
    thread_id = fields.text("thread_id") if answers else None
    request = reader.read(fields)
    if answers and not request.get("resume"):
        request["resume"] = answers
        if thread_id and not request.get("thread_id"):
            request["thread_id"] = thread_id
    messages = request.setdefault("messages", [])
    check_count(messages, reader.field_names)
    at = last_user_index(messages)
    if at is not None and (text := text_of_message(messages[at])):
        request.pop("message", None)
        request = {"messages": messages, "message": text, **request}
    if reader.keeps_extra and (rest := fields.rest()):
        request["extra"] = {**request.get("extra", {}), **rest}
    if not request.get("message") and reader.asks_by_inputs.isdisjoint(request.get("inputs", ())):
        _check_asks(request, messages, reader.field_names.get("message", "message"))
    return ordered(request)


def ordered(request: Request) -> Request:
    """Return the request with its fields in the contract's order, without fields that are None.

    Fields that the contract does not have are left out: readers of other authors may return some.
    """
    given: Mapping[str, Any] = request
    names = tuple(given)
    known = _in_order(names)
    if known == names and None not in given.values():  # nearly always
        return request
    return cast("Request", {name: given[name] for name in known if given[name] is not None})


@lru_cache(maxsize=_MOST_SHAPES)
def _in_order(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(filter(names.__contains__, FIELDS))


def _check_asks(request: Request, messages: list[Message], name: str) -> None:
    if not (request.get("resume") or tool_results(messages) or any(map(files_of, messages))):
        raise RequestError(
            "must say something: there is neither a message nor a file, an answer or a tool's result",
            field=name,
        )
