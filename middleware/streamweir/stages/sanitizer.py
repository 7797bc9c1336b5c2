"""No text leaves in an error, a warning or a failed step unless it was written for users.

Source: the standard protocol 1.1, section 3 rule 10 and section 5. Answers, thinking, data, arguments and
results are not touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

import msgspec

from streamweir.errors import CODES, MACHINE_CODE
from streamweir.events import Data, Error, Event, Status, ToolCallEnd, Warning, failure_meta, ids_of
from streamweir.redaction import REDACTED, is_secret_name, redact, redact_value

__all__ = ["ErrorSanitizer"]

_MESSAGE_CODE: Final = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_WORD: Final = re.compile(r"\w")
TOOL_FAILED: Final = "The tool failed."
TOOL_INCOMPLETE: Final = "The tool did not finish."
_TOOL_CODES: Final = frozenset({"TOOL_FAILED", "TOOL_INCOMPLETE"})
_WARNING: Final = "The service reported a problem that did not stop the answer."
_FAILURE_WORDS: Final = re.compile(r"error|fail|exception|traceback|warning", re.IGNORECASE)
_FAILED_STATES: Final = frozenset({"failed", "failure", "error", "errored", "exception"})
_FAILURE_KEYS: Final = frozenset(
    {"error", "errors", "error_msg", "error_message", "exception", "traceback", "stack", "stack_trace"}
)
_DETAIL_LIMIT: Final = 2000


class ErrorSanitizer:
    """Replaces or redacts the texts of failures.

    Args:
        debug: let raw texts out as `details` / `detail`, redacted.
    """

    handles: ClassVar[frozenset[type[Event]]] = frozenset({Error, Warning, ToolCallEnd, Status, Data})

    def __init__(self, *, debug: bool) -> None:
        self._debug = debug

    def process(self, event: Event) -> Iterable[Event] | None:
        """Return a safe event in place of `event`, None where it is safe itself."""
        match event:
            case Error():
                return (self._error(event),)
            case Warning():
                return (self._warning(event),)
            case ToolCallEnd(status="failed"):
                return (self._failed_tool(event),)
            case Status(state="failed"):
                return (self._failed_step(event),)
            case Data(data_type="custom", data={"value": value, **rest}) if _reports_failure(rest, value):
                return (self._failed_custom(event),)
        return None

    def _showable(self, text: str, event: Error | Warning | ToolCallEnd) -> str:
        """What users may read of `text`: nothing if it was not written for them, or all of it is secret."""
        if not event.for_users:
            return ""
        text = redact(text)
        return text if _WORD.search(text.replace(REDACTED, "")) else ""

    def _error(self, event: Error) -> Error:
        fixed = CODES.get(event.code, CODES["UPSTREAM_ERROR"]).message
        message = self._showable(event.message, event)
        return msgspec.structs.replace(
            event,
            code=event.code if _is_safe_code(event.code) else "UPSTREAM_ERROR",
            message=message or fixed,
            details=self._details(event.details, None if message else event.message),
            meta=ids_of(event.meta),
        )

    def _warning(self, event: Warning) -> Warning:
        message = self._showable(event.message, event)
        code = event.message_code
        return msgspec.structs.replace(
            event,
            message=message or _WARNING,
            message_code=code if code and _MESSAGE_CODE.fullmatch(code) and redact(code) == code else None,
            detail=self._details(event.detail, None if message else event.message),
            meta=failure_meta(event.meta),
        )

    def _failed_tool(self, event: ToolCallEnd) -> ToolCallEnd:
        error = event.error or {"code": "TOOL_FAILED", "message": ""}
        code = error["code"]
        message = self._showable(error["message"], event)
        fixed = TOOL_INCOMPLETE if code == "TOOL_INCOMPLETE" else TOOL_FAILED
        return msgspec.structs.replace(
            event,
            error={"code": code if _is_machine_code(code) else "TOOL_FAILED", "message": message or fixed},
            meta=failure_meta(event.meta),
        )

    def _failed_step(self, event: Status) -> Status:
        return msgspec.structs.replace(
            event,
            name=redact(event.name) if event.name else None,
            detail=self._details(event.detail, None),
            meta=failure_meta(event.meta),
        )

    def _failed_custom(self, event: Data) -> Data:
        assert isinstance(event.data, dict)
        value = _safe_value(event.data["value"])
        return msgspec.structs.replace(
            event,
            data={**event.data, "name": redact(str(event.data.get("name", ""))), "value": value},
            meta=failure_meta(event.meta),
        )

    def _details(self, details: Any, raw: str | None) -> Any:
        if not self._debug:
            return None
        details = redact_value(details, limit=_DETAIL_LIMIT) if details is not None else None
        if not raw:
            return details
        message = redact(raw, limit=_DETAIL_LIMIT)
        if details is None:
            return {"upstream_message": message}
        return {"upstream_message": message, "upstream_details": details}


def _is_machine_code(code: str) -> bool:
    return MACHINE_CODE.fullmatch(code) is not None and redact(code) == code


def _is_safe_code(code: str) -> bool:
    """May an error say `code`? Those of tools belong into `tool_call_end.error` only."""
    return code in CODES or (code not in _TOOL_CODES and _is_machine_code(code))


def _reports_failure(carrier: Mapping[Any, Any], value: Any) -> bool:
    """Is this unknown event the report of a failed step? Judged by its name and state, not by its texts."""
    if _FAILURE_WORDS.search(str(carrier.get("name", ""))):
        return True
    if not isinstance(value, dict):
        return False
    if str(value.get("status", value.get("state", ""))).lower() in _FAILED_STATES:
        return True
    return any(value.get(key) for key in _FAILURE_KEYS)


def _safe_value(value: Any) -> Any:
    """A failed step's report without its free text: numbers, flags, ids and machine codes stay."""
    match value:
        case str():
            return value if re.fullmatch(r"[\w.:-]{1,64}", value) and redact(value) == value else "[withheld]"
        case dict():
            return {
                redact(str(key)): REDACTED if is_secret_name(str(key)) else _safe_value(item)
                for key, item in value.items()
            }
        case list():
            return [_safe_value(item) for item in value]
        case _:
            return value
