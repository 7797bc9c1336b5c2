"""Reads the calls among the items of a response, and their outputs.

    run by                 items                                          arguments
    ────────────────────   ────────────────────────────────────────────   ──────────────────────────────
    the server             web_search_call, file_search_call, mcp_call,   different for each
                           code_interpreter_call, program,
                           image_generation_call, tool_search_call
    the client, unless an  function_call                                  its `arguments`
    output item follows    custom_tool_call                               {input}
                           shell_call, local_shell_call                   {action}
                           computer_call                                  {action} or {actions}
                           apply_patch_call                               {operation}
                           tool_search_call with `execution: client`      its `arguments`

A `shell_call` whose environment is a container is run by the server. All functions take items whose type has
no vendor (`with_plain_type`).

Source: the Responses API (openai-python 3.57, `response_output_item.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, arguments, leftover, objects_in, text_of, tool_error
from streamweir.dialects.openai_responses.shared_words import CLIENT_CALLS, NAME
from streamweir.events import Event, Opaque, ToolCallEnd, ToolCallStart
from streamweir.ids import short_id

__all__ = [
    "WITH_OUTPUT_ITEM",
    "call_id_of",
    "client_call",
    "is_client_call",
    "name_of",
    "opaque_id",
    "output_of",
    "server_call",
]

_RAN: Final = ("action", "queries", "results", "code", "outputs", "output", "result")
"""The fields of a server's call that hold its arguments and its result."""

_ARGUMENTS: Final = ("input", "action", "actions", "operation")
"""The fields of a client's call that are its arguments, under their own names."""

_CALL: Final = ("id", "type", "call_id", "name", "status", "caller", "created_by", "environment")
_OUTPUT: Final = ("id", "type", "call_id", "status", "caller", "created_by")
_RESULTS: Final = ("output", "result", "tools")
_FAILED: Final = ("failed", "incomplete")


def call_id_of(item: Mapping[str, Any]) -> str:
    """Return the id that a call and its output share."""
    return short_id(text_of(item.get("call_id")) or text_of(item.get("id")))


def name_of(item: Mapping[str, Any]) -> str:
    """Return the name of the tool of a call: the call's own name, else its type without `_call`."""
    kind = text_of(item.get("type"))
    return short_id(text_of(item.get("name"))) or kind.removesuffix("_call")


def is_client_call(item: Mapping[str, Any]) -> bool:
    """Return whether the client has to run a call if the response ends without its output."""
    kind = text_of(item.get("type"))
    if kind == "shell_call":
        environment = item.get("environment")
        return not (isinstance(environment, dict) and "container" in text_of(environment.get("type")))
    return kind in CLIENT_CALLS or item.get("execution") == "client"


def opaque_id(item: Mapping[str, Any]) -> Opaque | None:
    """Return the opaque value of a message or of a call, which is the id of its item."""
    item_id = item.get("id")
    return {NAME: {"id": item_id}} if isinstance(item_id, str) and item_id else None


def client_call(item: Mapping[str, Any], given: dict[str, Any] | None = None) -> ToolCallStart:
    """Return the start of a call that the client may have to run.

    Args:
        item: the call.
        given: the arguments, if only their pieces were sent.
    """
    asked = {name: item[name] for name in _ARGUMENTS if item.get(name) is not None}
    if not asked and given is None:
        given = arguments(item.get("arguments"))
    rest = leftover(item, (*_CALL, *_ARGUMENTS, "arguments", "execution"))
    return ToolCallStart(
        call_id_of(item),
        name_of(item) or "unknown",
        arguments=asked or given or {},
        meta=and_extra(None, rest),
    )


def output_of(item: Mapping[str, Any]) -> ToolCallEnd:
    """Return the end of the call that an output belongs to."""
    found = {name: item[name] for name in _RESULTS if item.get(name) is not None}
    rest = leftover(item, (*_OUTPUT, *_RESULTS, "execution"))
    result = next(iter(found.values())) if len(found) == 1 else found or None
    failed = item.get("status") in _FAILED or any(map(_is_failed, _outcomes(item.get("output"))))
    return ToolCallEnd(
        call_id_of(item),
        "failed" if failed else "success",
        result=result,
        error=tool_error() if failed else None,
        meta=and_extra(None, rest),
    )


def _outcomes(output: Any) -> Iterator[Any]:
    """Yield the outcome of each command of a shell."""
    for part in objects_in(output):
        yield part.get("outcome")


def _is_failed(outcome: Any) -> bool:
    match outcome:
        case {"type": "timeout"}:
            return True
        case {"type": "exit", "exit_code": int(code)}:
            return code != 0
    return False


def server_call(item: Mapping[str, Any], *, has_begun: bool = False) -> Iterator[Event]:
    """Yield a call that the server has run with a built-in tool or a tool of an MCP server.

    Args:
        item: the call.
        has_begun: whether the start of the call has been yielded.
    """
    kind = text_of(item.get("type"))
    tool_id = call_id_of(item) if kind in WITH_OUTPUT_ITEM else short_id(text_of(item.get("id")))
    asked = item.get("arguments") or _asked(item)
    rest = leftover(item, (*_CALL, "arguments", "error", "server_label", *_BOOKKEEPING, *_RAN))
    label = item.get("server_label")
    extra = {**({"server_label": label} if label else {}), **(rest or {})}
    if not has_begun:
        given, meta = arguments(asked), and_extra(None, extra)
        yield ToolCallStart(tool_id, name_of(item), arguments=given, meta=meta)
    if item.get("error") is not None or item.get("status") == "failed":
        yield ToolCallEnd(tool_id, "failed", error=tool_error(item.get("error")))
    elif kind not in WITH_OUTPUT_ITEM:
        yield ToolCallEnd(tool_id, result=_outcome(item), meta=and_extra(None, extra if has_begun else None))


WITH_OUTPUT_ITEM: Final = frozenset({"program", "tool_search_call", "shell_call"})
"""The types of calls of the server whose result is a separate item."""

_BOOKKEEPING: Final = ("fingerprint", "execution")


def _asked(item: Mapping[str, Any]) -> dict[str, Any] | None:
    action = item.get("action")
    if isinstance(action, dict):
        return action
    if action is not None:
        return {"action": action}
    return {name: item[name] for name in ("queries", "code") if item.get(name) is not None} or None


def _outcome(item: Mapping[str, Any]) -> Any:
    found = (item.get(name) for name in ("output", "outputs", "results"))
    return next((value for value in found if value is not None), None)
