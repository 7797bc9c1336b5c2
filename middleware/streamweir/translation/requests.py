"""Reads requests to the canonical form and writes them for an upstream, by names of dialects.

Source: the request contract, section 8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.codec.mapped.problems import ProblemList
from streamweir.codec.registry import process_dialects
from streamweir.errors import ConfigurationError
from streamweir.requests.canonical import Request
from streamweir.requests.canonical_reader import read_fields
from streamweir.requests.errors import RequestError
from streamweir.requests.fields import Fields
from streamweir.requests.messages import read_message, text_of_message
from streamweir.requests.reading import parse_body, read_canonical
from streamweir.requests.sides import RequestReader
from streamweir.requests.templates import compile_tree, overlay_root
from streamweir.requests.writing import Target, made_ids, of_new_conversation, plan_request, shown

__all__ = ["ReadRequest", "overlay_of", "planned_request", "read_request", "request_target", "write_request"]

_CANONICAL: Final = RequestReader(read_fields)


class ReadRequest(dict[str, Any]):
    """A canonical request with the protocol of its client.

    Attributes:
        protocol: the name of the client's protocol.
    """

    protocol: str = ""


def read_request(body: bytes | str | Mapping[str, Any], *, protocol: str | Dialect) -> dict[str, Any]:
    """Return the canonical request of a client's body.

    Args:
        body: JSON, or its value.
        protocol: the protocol of the client: its name, or the dialect itself.

    Raises:
        RequestError: the body cannot be understood.
        ConfigurationError: no such protocol has requests.
    """
    dialect = process_dialects().find(protocol)
    found = ReadRequest(read_canonical(_reader_of(dialect), parse_body(body)))
    found.protocol = dialect.name
    return found


def write_request(
    request: Mapping[str, Any],
    *,
    dialect: str | Dialect,
    path: str = "",
    options: Mapping[str, Any] | None = None,
    mapped: Mapping[str, Any] | None = None,
    upstream: str = "",
) -> list[dict[str, Any]]:
    """Return the requests to send to an upstream, in their order.

    Args:
        request: the canonical request.
        dialect: the dialect of the upstream: its name, or the dialect itself.
        path: the path of the upstream's URL, which may decide the form of the request.
        options: the options of the dialect.
        mapped: a tree that is laid over the body.
        upstream: its name or URL. A seal is opened only for the upstream that it was made for.

    Raises:
        RequestError: the upstream's dialect cannot take it.
        ConfigurationError: no such dialect has requests, or it has no such option.
    """
    found = process_dialects().find(dialect)
    target = request_target(found, path=path, options=options, mapped=mapped)
    target = replace(target, upstream=upstream)
    protocol = request.protocol if isinstance(request, ReadRequest) else found.name
    canonical = read_canonical(_CANONICAL, _without_made_message(parse_body(request)))
    extra = canonical.get("extra", {}) if protocol == found.name else {}
    plan = plan_request(canonical, target, extra=extra, new_id=made_ids())
    return [shown(written, path) for written in plan.requests]


def _without_made_message(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a canonical request without its `message` if that is made from `messages`, whatever follows.

    In the body of a client the same text behind an answer is a new message.
    """
    text, messages = body.get("message"), body.get("messages")
    if text is None or not isinstance(messages, list):
        return body
    asked = [item for item in messages if isinstance(item, dict) and item.get("role") == "user"]
    try:
        is_made = bool(asked) and text_of_message(read_message(Fields(asked[-1]))) == text
    except RequestError:
        return body  # refused by the reader, which names the field
    return {name: value for name, value in body.items() if name != "message"} if is_made else body


def planned_request(
    body: bytes | str | Mapping[str, Any],
    *,
    protocol: str,
    dialect: str,
    path: str = "",
    options: Mapping[str, Any] | None = None,
    dialects: Dialects | None = None,
) -> dict[str, Any]:
    """Return the requests for an upstream, the names of lost parts, and the canonical request.

    Args:
        body: the body of the client.
        protocol: the protocol of the client, by name.
        dialect: the dialect of the upstream, by name.
        path: the path of the upstream's URL.
        options: the options of the dialect.
        dialects: the set that names are looked up in; None: that of the process.

    Raises:
        RequestError: the body cannot be understood, or the upstream's dialect cannot take it.
        ConfigurationError: a dialect is unknown or has no requests.
    """
    known = process_dialects() if dialects is None else dialects
    found = known.find(dialect)
    target = request_target(found, path=path, options=options)
    reader = _reader_of(known.find(protocol))
    canonical = read_canonical(reader, parse_body(body))
    extra = canonical.get("extra", {}) if protocol == found.name else {}
    try:
        plan = plan_request(
            of_new_conversation(canonical, reader, target.writer), target, extra=extra, new_id=made_ids()
        )
    except RequestError as error:
        raise error.for_client(reader.field_names) from None
    requests = [shown(written, path) for written in plan.requests]
    return {"requests": requests, "lost": [*plan.lost], "request": canonical}


def request_target(
    dialect: Dialect,
    *,
    path: str = "",
    options: Mapping[str, Any] | None = None,
    mapped: Mapping[str, Any] | None = None,
    keeps_history: bool = True,
) -> Target:
    """Return the target that requests to an upstream are written for.

    Args:
        dialect: the dialect of the upstream.
        path: the path of its URL; a query is left aside.
        options: the options of the dialect; they override those that follow from the path.
        mapped: a tree of values that is laid over the body.
        keeps_history: write earlier turns into the text if the upstream does not know them.

    Raises:
        ConfigurationError: the dialect cannot write requests, or has no such option.
    """
    writer = dialect.request_writer
    if writer is None:
        raise ConfigurationError(f"{dialect.name} has no requests that can be written")
    own = dict(options or {})
    own = own[dialect.name] if isinstance(own.get(dialect.name), Mapping) else own
    dialect.check_options(own)
    path = path.partition("?")[0]
    return Target(
        writer,
        path,
        {**dialect.options_for(path), **own},
        keeps_history,
        None if mapped is None else overlay_of(mapped),
        dialect.name,
    )


def overlay_of(tree: Mapping[str, Any]) -> Callable[[Request], Mapping[str, Any]]:
    """Return a function that makes the overlay of a request's body from the canonical request.

    Raises:
        ConfigurationError: the tree holds an expression that cannot be compiled.
    """
    problems = ProblemList()
    compiled = compile_tree(tree, problems.at_value)
    if problems.problems:
        raise ConfigurationError("\n".join(map(str, problems.problems)))
    return lambda request: compiled.overlay(overlay_root(request, {}))


def _reader_of(dialect: Dialect) -> RequestReader:
    if dialect.request_reader is None:
        raise ConfigurationError(f"{dialect.name} has no requests that can be read")
    return dialect.request_reader
