"""Writes the canonical request as the requests to an upstream: threads, the writer, the overlay, lost parts.

Source: the request contract, sections 1, 4, 5 and 8.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final, cast
from urllib.parse import parse_qsl

import msgspec
from msgspec.structs import replace

from streamweir.jsontext import plain_json
from streamweir.requests.canonical import LOSSES, MODEL_PARAMETERS, PARAMETERS, Request
from streamweir.requests.errors import RequestError
from streamweir.requests.messages import files_of
from streamweir.requests.opaque_values import OpaqueValues
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.own_turns import with_own_turns
from streamweir.requests.sides import RequestReader, RequestWriter, Threads
from streamweir.requests.written import NOTHING, Upload, Written

__all__ = ["Plan", "Target", "made_ids", "of_new_conversation", "plan_request", "shown", "upstream_thread"]

_FIELDS: Final = frozenset({"tools", "inputs", "state", "context", "response_format"})


class Target(msgspec.Struct, frozen=True, eq=False):
    """The upstream that a request is written for.

    Attributes:
        writer: the writer of its dialect.
        path: the path of its URL, without a query.
        options: the options of its dialect.
        keeps_history: earlier turns are written into the text if the upstream does not know them.
        overlay: returns the tree to lay over the body, given the canonical request.
        dialect: the name of its dialect.
        upstream: its name in the configuration, or its URL: opaque values are only given to the upstream that
            made them.
    """

    writer: RequestWriter
    path: str = ""
    options: Mapping[str, Any] = NOTHING
    keeps_history: bool = True
    overlay: Callable[[Request], Mapping[str, Any]] | None = None
    dialect: str = ""
    upstream: str = ""


class Plan(msgspec.Struct, frozen=True):
    """The requests that are sent to an upstream.

    Attributes:
        requests: the requests in order; the answer to the last one is the stream.
        lost: the names of the parts that the upstream cannot take, in the contract's order.
        unused: the names of the parameters that the requests do not contain; clients are not told.
    """

    requests: list[Written]
    lost: tuple[str, ...]
    unused: tuple[str, ...] = ()


def plan_request(
    request: Request,
    target: Target,
    *,
    extra: Mapping[str, Any] = NOTHING,
    new_id: Callable[[], str] | None = None,
) -> Plan:
    """Return the requests to `target` for `request`.

    Args:
        request: the canonical request; its `thread_id` is the upstream's if the upstream makes its own ids.
        target: the upstream that the requests are written for.
        extra: the fields that no rule read, if a client of the same dialect sent them.
        new_id: returns a new id; default: a random one.

    Raises:
        RequestError: the upstream's dialect cannot take the request.
    """
    writer = target.writer
    if request.get("resume") and not writer.answers:
        raise RequestError("is an answer, which this service cannot take", field="resume")
    opaque = OpaqueValues(target.dialect, target.upstream, writer.native_opaque)
    request = with_own_turns(request, opaque)
    overlay = target.overlay(request) if target.overlay else NOTHING
    thread_id = request.get("thread_id")
    outgoing = Outgoing(
        request=request,
        path=target.path,
        options=target.options,
        overlay=overlay,
        thread_id=upstream_thread(thread_id, writer.threads) if thread_id else None,
        extra=extra,
        keeps_history=target.keeps_history,
        opaque=opaque,
        new_id=new_id or _random_id,
    )
    made = writer.write(outgoing)
    requests = [made] if isinstance(made, Written) else [*made]
    if overlay:
        _lay_over(requests, overlay)
    may_be_unused = "extra" in request or "parameters" in request
    return Plan(requests, _lost(outgoing, writer), _unused(outgoing) if may_be_unused else ())


def of_new_conversation(request: Request, reader: RequestReader, writer: RequestWriter) -> Request:
    """Return the request without its thread if the upstream cannot know it, as both make ids."""
    if not (reader.has_own_threads and writer.threads == "server"):
        return request
    return cast("Request", {name: value for name, value in request.items() if name != "thread_id"})


def upstream_thread(thread_id: str | None, kind: Threads) -> str | None:
    """Return the id that an upstream with this kind of ids gets for a client's id; None if it gets no id."""
    if not thread_id or kind == "none":
        return None
    if kind != "uuid":
        return thread_id
    try:
        return str(uuid.UUID(thread_id))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, thread_id))


def made_ids() -> Callable[[], str]:
    """Return a function that returns the ids `made-1`, `made-2` ..., for requests that are only displayed."""
    numbers = itertools.count(1)
    return lambda: f"made-{next(numbers)}"


def shown(written: Written, path: str = "") -> dict[str, Any]:
    """Return a request in the form in which it is printed.

    Args:
        written: the request.
        path: the path of the upstream's URL, with its query.
    """
    own_path, _, own_query = path.partition("?")
    found: dict[str, Any] = {
        "method": written.method,
        "path": own_path if written.path is None else written.path,
        "query": {**dict(parse_qsl(own_query, keep_blank_values=True)), **written.query},
        "headers": dict(written.headers),
    }
    if written.form is not None:
        found["form"] = {name: _shown_field(value) for name, value in written.form.items()}
    elif written.body is not None:
        found["headers"] = {"Content-Type": "application/json", **found["headers"]}
        found["body"] = plain_json(written.body)
    if written.takes:
        found["takes"] = dict(written.takes)
    return found


def _shown_field(value: Any) -> Any:
    match value:
        case Upload():
            return value._asdict()
        case list():
            return [_shown_field(item) for item in value]
    return plain_json(value)


def _lay_over(requests: list[Written], tree: Mapping[str, Any]) -> None:
    """Lay a tree over the body of the marked request, or of the last that has one."""
    held = [index for index, item in enumerate(requests) if item.body is not None or item.form is not None]
    marked = [index for index in held if requests[index].is_overlaid]
    for index in (marked or held)[-1:]:
        written = requests[index]
        if written.form is not None:
            requests[index] = replace(written, form=merged(written.form, tree))
        else:
            requests[index] = replace(written, body=merged(written.body, tree))


def merged(below: Any, above: Any) -> Any:
    """Return `above` laid over `below`: mappings are merged, other values replace, a null removes a key."""
    if not isinstance(above, Mapping):
        return above
    result = dict(below) if isinstance(below, Mapping) else {}
    for key, value in above.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def _lost(outgoing: Outgoing, writer: RequestWriter) -> tuple[str, ...]:
    given: Mapping[str, Any] = outgoing.request
    lost = outgoing.lost
    if not _FIELDS.isdisjoint(given):
        lost.update(name for name in _FIELDS.intersection(given).difference(writer.takes) if given[name])
    if "files" not in writer.takes and any(map(files_of, outgoing.new_messages)):
        lost.add("files")
    return tuple([name for name in LOSSES if name in lost]) if lost else ()


def _unused(outgoing: Outgoing) -> tuple[str, ...]:
    """Return the parameters that were not sent: fields that no rule reads and that chat protocols define."""
    given, parameters = outgoing.request.get("extra"), outgoing.request.get("parameters")
    unused: list[str] = []
    if parameters:
        unused += (name for name in PARAMETERS if name in parameters and name not in outgoing.used)
    if given:
        unused += (name for name in MODEL_PARAMETERS if name in given and name not in outgoing.extra)
    return tuple(unused)


def _random_id() -> str:
    return str(uuid.uuid4())
