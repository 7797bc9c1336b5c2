"""Reads the calls among the items of a response that are no `function_call`.

    run by                 items
    ────────────────────   ────────────────────────────────────────────────────────────────────────────────
    the server             web_search_call, file_search_call, code_interpreter_call, image_generation_call,
                           mcp_call, tool_search_call, program
    the client, unless an  custom_tool_call, computer_call, local_shell_call, shell_call, apply_patch_call
    output item follows

Source: the Responses API (openai-python 3.54, `response_output_item.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, arguments, leftover, text_of, tool_error
from streamweir.events import Event, ToolCallEnd, ToolCallStart
from streamweir.ids import short_id

__all__ = ["CLIENT_CALLS", "OUTPUTS", "call_id_of", "client_call", "output_of", "read_server_call"]

CLIENT_CALLS: Final = frozenset(
    {"custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call"}
)
OUTPUTS: Final = frozenset(
    {
        *("function_call_output", "custom_tool_call_output", "computer_call_output", "program_output"),
        *("local_shell_call_output", "shell_call_output", "apply_patch_call_output", "tool_search_output"),
    }
)
"""Items that hold the result of a call, by its `call_id`."""

_RAN: Final = ("action", "queries", "results", "code", "outputs", "output", "result")
"""The fields of a server's call that hold its arguments and its result."""

_CALL: Final = ("id", "type", "call_id", "name", "status", "caller", "created_by", "environment")
_OUTPUT: Final = ("id", "type", "call_id", "status", "caller", "created_by")


def call_id_of(item: Mapping[str, Any]) -> str:
    """Return the id that a call and its output share."""
    return short_id(text_of(item.get("call_id")) or text_of(item.get("id")))


def client_call(item: Mapping[str, Any]) -> ToolCallStart:
    """Return the start of a call of `CLIENT_CALLS`; its arguments are the fields that its kind has."""
    kind = text_of(item.get("type"))
    given = leftover(item, _CALL) or {}
    name = text_of(item.get("name")) or kind.removesuffix("_call")
    return ToolCallStart(call_id_of(item), name, arguments=given, for_client=True)


def output_of(item: Mapping[str, Any]) -> ToolCallEnd:
    """Return the end of the call that an item of `OUTPUTS` belongs to."""
    found = leftover(item, _OUTPUT) or {}
    result = next(iter(found.values())) if len(found) == 1 else found or None
    return ToolCallEnd(call_id_of(item), result=result)


def read_server_call(item: Mapping[str, Any]) -> Iterator[Event]:
    """Yield a call that the server has run, by a tool of its own or by one behind MCP."""
    kind = text_of(item.get("type"))
    tool_id = call_id_of(item) if kind in _WITH_OUTPUT_ITEM else text_of(item.get("id"))
    name = text_of(item.get("name")) or kind.removesuffix("_call")
    asked = item.get("arguments") or item.get("action") or (leftover(item, ()) and _asked(item))
    rest = leftover(item, (*_CALL, "arguments", "error", "server_label", *_BOOKKEEPING, *_RAN))
    label = item.get("server_label")
    extra = {**({"server_label": label} if label else {}), **(rest or {})}
    yield ToolCallStart(tool_id, name, arguments=arguments(asked), meta=and_extra(None, extra))
    if item.get("error") is not None or item.get("status") == "failed":
        yield ToolCallEnd(tool_id, "failed", error=tool_error(item.get("error")))
    elif kind not in _WITH_OUTPUT_ITEM:
        yield ToolCallEnd(tool_id, result=_outcome(item))


_WITH_OUTPUT_ITEM: Final = frozenset({"program", "tool_search_call"})
"""Calls of the server's whose result is an item of its own."""

_BOOKKEEPING: Final = ("fingerprint", "execution")


def _asked(item: Mapping[str, Any]) -> dict[str, Any] | None:
    return {name: item[name] for name in ("queries", "code") if item.get(name) is not None} or None


def _outcome(item: Mapping[str, Any]) -> Any:
    found = (item.get(name) for name in ("output", "outputs", "results"))
    return next((value for value in found if value is not None), None)
