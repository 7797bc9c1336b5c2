"""The entries that a rule may emit, and the fields of each entry.

Source: the dialect-file contract, section 3 (the events of an entry).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, get_args

from streamweir.codec.mapped.field_kinds import (
    ANY,
    ARGUMENTS,
    CITATIONS,
    COUNT,
    EXTRA,
    FINISH_REASON,
    FLAG,
    ID,
    OBJECT,
    PROGRESS,
    QUESTIONS,
    STATUS_CODE,
    STRUCTURE,
    TEXT,
    TOOL_ERROR,
    TRUE,
    FieldKind,
    word,
)
from streamweir.events import META_IDS, DataType, Scope, State

__all__ = ["ENTRIES", "META_FIELDS", "TEXT_MODES", "EntryKind"]

TEXT_MODES: Final[Mapping[str, Any]] = {"delta": None, "cumulative": "snapshot", "whole": "repeat"}
"""The values of `text`, which relates a text to its message, and the hint that each gives to the stages."""

META_FIELDS: Final[Mapping[str, FieldKind]] = {
    **dict.fromkeys(META_IDS, ID),
    "duration_ms": COUNT,
    "upstream_time": COUNT,
    "extra": EXTRA,
}
"""The fields that every event may have, because they belong to its `metadata`."""


class EntryKind(NamedTuple):
    """One type of entry.

    Attributes:
        fields: the kind of each field, by its name.
        required: the fields that must be given; if a required field is null, the entry emits no event.
        has_meta: whether the fields of metadata are allowed.
    """

    fields: Mapping[str, FieldKind]
    required: tuple[str, ...] = ()
    has_meta: bool = True


_TEXT_MODE: Final = word(*TEXT_MODES)

ENTRIES: Final[Mapping[str, EntryKind]] = {
    "session_start": EntryKind({"session_id": ID}),
    "content": EntryKind(
        {
            "content": TEXT,
            "format": word("markdown", "text", "html"),
            "is_complete": TRUE,
            "op": word("append", "replace"),
            "channel": ID,
            "text": _TEXT_MODE,
        },
        ("content",),
    ),
    "thinking": EntryKind(
        {"content": TEXT, "stage": word("reasoning", "planning", "analyzing"), "text": _TEXT_MODE},
        ("content",),
    ),
    "tool_call_start": EntryKind(
        {"tool_id": ID, "tool_name": TEXT, "description": TEXT, "arguments": ARGUMENTS}, ("tool_name",)
    ),
    "tool_call_delta": EntryKind(
        {"tool_id": ID, "tool_name": TEXT, "arguments_delta": TEXT, "index": ANY}, ("arguments_delta",)
    ),
    "tool_call_progress": EntryKind(
        {"tool_id": ID, "tool_name": TEXT, "progress": PROGRESS, "message": TEXT}
    ),
    "tool_call_end": EntryKind(
        {
            "tool_id": ID,
            "tool_name": TEXT,
            "status": word("success", "failed"),
            "result": ANY,
            "error": TOOL_ERROR,
            "for_users": FLAG,
        }
    ),
    "data": EntryKind(
        {"data_type": word(*get_args(DataType)), "data": STRUCTURE, "metadata": EXTRA}, ("data_type", "data")
    ),
    "reference": EntryKind({"citations": CITATIONS}, ("citations",)),
    "status": EntryKind(
        {"scope": word(*get_args(Scope)), "state": word(*get_args(State)), "name": TEXT, "detail": ANY},
        ("scope", "state"),
    ),
    "warning": EntryKind(
        {
            "message": TEXT,
            "message_code": ID,
            "message_params": OBJECT,
            "detail": ANY,
            "for_users": FLAG,
        },
        ("message",),
    ),
    "interaction": EntryKind(
        {
            "kind": word("form", "questions", "approval", "tool", "handoff", "continue"),
            "interaction_id": ID,
            "state": word("requested", "cancelled", "resolved"),
            "title": TEXT,
            "description": TEXT,
            "schema": OBJECT,
            "ui": OBJECT,
            "questions": QUESTIONS,
            "resume": OBJECT,
        },
        ("kind",),
    ),
    "error": EntryKind(
        {
            "message": TEXT,
            "message_code": ID,
            "message_params": OBJECT,
            "code": ANY,
            "error_type": word("validation", "execution", "timeout", "system"),
            "recoverable": FLAG,
            "terminal": FLAG,
            "retry_after_ms": COUNT,
            "details": ANY,
            "http_status": STATUS_CODE,
            "for_users": FLAG,
        }
    ),
    "session_end": EntryKind(
        {"status": word("completed", "error", "cancelled", "suspended"), "summary": OBJECT}
    ),
    "usage": EntryKind(
        {
            "prompt_tokens": COUNT,
            "completion_tokens": COUNT,
            "total_tokens": COUNT,
            "finish_reason": FINISH_REASON,
        },
        has_meta=False,
    ),
    "complete": EntryKind({}, has_meta=False),
}
"""The entries by type. All but the last two types are events of the standard."""
