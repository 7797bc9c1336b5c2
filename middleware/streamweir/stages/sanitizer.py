"""No text leaves in an error, a warning or a failed step unless it was written for users.

Source: the standard protocol 1.1, section 3 rule 10 and section 5. Answers, thinking, data, arguments and
results are not touched. Of their unknown fields (`extra`), those that report a failure are withheld.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Final, cast

import msgspec

from streamweir.classification.failure_signs import is_failing_name, reports_failure
from streamweir.classification.stack_traces import is_exception_text, is_stack_trace
from streamweir.errors import CODES, MACHINE_CODE, TOOL_CODES
from streamweir.events import (
    EVENT_TYPES,
    Data,
    Error,
    Event,
    Meta,
    SessionEnd,
    SessionStart,
    Status,
    ToolCallEnd,
    Warning,
    failure_meta,
    ids_of,
)
from streamweir.redaction import DETAIL_LIMIT, REDACTED, RedactionBudget
from streamweir.stages.safe_report import WITHHELD, CancelledReport, SafeReport

__all__ = ["ErrorSanitizer", "is_failed_report"]

_STOPPED: Final = frozenset({"stopped", "cancelled", "canceled", "aborted", "interrupted"})
_OF_RUN: Final = frozenset({SessionStart, SessionEnd})
_WORD: Final = re.compile(r"\w")
_WARNING: Final = "The service reported a problem that did not stop the answer."
_CODE: Final = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
"""An id or a code, in upper or lower case."""
_MOST_FIELDS: Final = 4096
"""The most unknown fields of one event that are checked one by one; more fields count as one report."""

_ENVELOPE: Final = frozenset({"name", "value"})
"""The keys of the standard protocol around the content of an unknown event."""

_CACHED: Final = 64
"""The longest name, in characters, whose verdict is cached in the process."""
_FEW_FIELDS: Final = 4
_LONGEST_NAME: Final = 6
"""The longest key, in characters, that is too short to be the message of an exception."""


class ErrorSanitizer:
    """Replaces or redacts the texts of failures.

    Args:
        debug: let raw texts out as `details` / `detail`, redacted.
    """

    handles: ClassVar[frozenset[type[Event]]] = frozenset({Error, Warning, ToolCallEnd, Status, Data})
    handles_with_meta: ClassVar[frozenset[type[Event]]] = frozenset(EVENT_TYPES.values())

    _harmless_id = ""
    """The last id of a start or an end that was no text of an exception."""

    def __init__(self, debug: bool) -> None:
        self._debug = debug

    @cached_property
    def _budget(self) -> RedactionBudget:
        """The redaction budget of the stream; made when it is first needed."""
        return RedactionBudget()

    def process(self, event: Event) -> Iterable[Event] | None:
        """Return a safe event in place of `event`; None if `event` is safe itself."""
        kind = type(event)
        if kind in _OF_RUN:
            if self._is_harmless_run(event):  # type: ignore[arg-type]
                return None
            safe = self._safe_of_run(event)  # type: ignore[arg-type]
            return None if safe is event else (safe,)
        if kind not in self.handles:
            return self._safe_beside(event) if event.meta and "extra" in event.meta else None
        if type(event) is ToolCallEnd and event.status != "failed":  # nearly all
            return self._safe_beside(event) if event.meta else None
        match event:
            case Data():
                if event.data_type == "custom" and _is_failed_data(event):
                    return (self._failed_report(event),)
            case Error():
                return (self._error(event),)
            case Warning():
                return (self._warning(event),)
            case ToolCallEnd(status="failed"):
                return (self._failed_tool(event),)
            case Status() if _is_failed_step(event):
                return (self._failed_step(event),)
        return self._safe_beside(event) if event.meta else None

    def _is_harmless_run(self, event: SessionStart | SessionEnd) -> bool:
        """Return whether a start or an end certainly is safe, as nearly all are."""
        meta, is_start = event.meta or {}, type(event) is SessionStart
        if is_start and event.session_id and is_exception_text(event.session_id):  # type: ignore[union-attr]
            return False
        if len(meta) == 1 and meta.get("message_id") is self._harmless_id:
            return True
        for name, item in meta.items():
            if name == "extra":
                if not (is_start and _is_harmless(meta["extra"])):
                    return False
            elif type(item) is str and item is not self._harmless_id:
                if is_exception_text(item):
                    return False
                self._harmless_id = item
        return True

    def _safe_of_run(self, event: SessionStart | SessionEnd) -> Event:
        """Make a start or an end safe: it may describe how the run failed, although it is no error."""
        safe: Event = event
        meta = event.meta
        if type(event) is SessionStart and event.session_id and is_exception_text(event.session_id):
            safe = msgspec.structs.replace(event, session_id=REDACTED, meta=self._safe_ids(ids_of(meta)))
        elif meta and any(isinstance(item, str) and is_exception_text(item) for item in meta.values()):
            safe = msgspec.structs.replace(event, meta=self._safe_ids(failure_meta(meta)))
        if not safe.meta or "extra" not in safe.meta:
            return safe
        safe = next(iter(self._safe_beside(safe) or (safe,)))
        is_bad_end = isinstance(event, SessionEnd) and event.status in ("cancelled", "error")
        if not is_bad_end and isinstance(event, SessionEnd):
            return safe  # such fields belong to the answer
        report = CancelledReport(self.redacted if is_bad_end else _unchanged, self.is_code)
        extra = (safe.meta or {}).get("extra")
        looked_through = _looked_through(extra, report)
        if looked_through == extra:
            if type(event) is SessionStart and safe is event and extra:
                _remember_harmless(extra)
            return safe
        return msgspec.structs.replace(safe, meta={**(safe.meta or {}), "extra": looked_through})

    def _stopped_step(self, event: Status, meta: Meta) -> Status:
        safe = cast("dict[str, Any]", self._safe_ids(meta))
        if "extra" in meta:
            safe["extra"] = CancelledReport(self.redacted, self.is_code).copy(meta["extra"])
        return msgspec.structs.replace(event, meta=safe)

    def redacted(self, text: str) -> str | None:
        """Return `text` without its secrets; None if the stream has had too many texts to redact."""
        return self._budget.text(text)

    def _safe_beside(self, event: Event) -> Iterable[Event] | None:
        """Withhold reports of failures in the `extra` fields of an event that is not a failure."""
        if isinstance(event, Status) and event.meta and _is_stopped(event):
            return (self._stopped_step(event, event.meta),)
        extra = (event.meta or {}).get("extra")
        if not extra or not reports_failure(extra):
            return None
        is_whole = len(extra) > _MOST_FIELDS
        failing = {name: value for name, value in extra.items() if is_whole or reports_failure({name: value})}
        if any(map(_is_verdict, failing.values())):  # the report itself stands beside it
            failing = extra
        rest = {name: value for name, value in extra.items() if name not in failing}
        safe = {**rest, **SafeReport(self.is_code).copy_fields(failing)}
        return (msgspec.structs.replace(event, meta={**(event.meta or {}), "extra": safe}),)

    def _showable(self, text: str, event: Error | Warning | ToolCallEnd) -> str:
        """Return the part of `text` that users may read; empty if it is not for users or all secret."""
        if not event.for_users:
            return ""
        text = self._budget.text(text) or ""
        return text if _WORD.search(text.replace(REDACTED, "")) else ""

    def _error(self, event: Error) -> Error:
        fixed = CODES.get(event.code, CODES["UPSTREAM_ERROR"]).message
        message = self._showable(event.message, event)
        return msgspec.structs.replace(
            event,
            code=event.code if self._is_safe_code(event.code) else "UPSTREAM_ERROR",
            message=message or fixed,
            message_code=self._safe_key(event.message_code),
            message_params=self._params(event.message_params, event),
            details=self._details(event.details, None if message else event.message),
            meta=self._safe_ids(ids_of(event.meta)),
        )

    def _warning(self, event: Warning) -> Warning:
        message = self._showable(event.message, event)
        return msgspec.structs.replace(
            event,
            message=message or _WARNING,
            message_code=self._safe_key(event.message_code),
            message_params=self._params(event.message_params, event),
            detail=self._details(event.detail, None if message else event.message),
            meta=self._safe_ids(failure_meta(event.meta)),
        )

    def _safe_key(self, code: str | None) -> str | None:
        return code if code and self.is_code(code) else None

    def _params(self, params: dict[str, Any] | None, event: Error | Warning) -> dict[str, Any] | None:
        """Return the parameters of a text: numbers unchanged, strings redacted."""
        safe: dict[str, Any] = {}
        for name, value in (params or {}).items():
            if not self.is_code(name):
                continue
            if not isinstance(value, str):
                safe[name] = value
            elif event.for_users or self.is_code(value):
                safe[name] = self._budget.text(value) or ""
        return safe or None

    def _failed_tool(self, event: ToolCallEnd) -> ToolCallEnd:
        error = event.error or {"code": "TOOL_FAILED", "message": ""}
        code = error["code"]
        message = self._showable(error["message"], event)
        return msgspec.structs.replace(
            event,
            result=_without_traces(event.result),
            error={
                "code": code if self._is_machine_code(code) else "TOOL_FAILED",
                "message": message or TOOL_CODES.get(code, TOOL_CODES["TOOL_FAILED"]),
            },
            meta=self._safe_ids(failure_meta(event.meta)),
        )

    def _failed_step(self, event: Status) -> Status:
        return msgspec.structs.replace(
            event,
            name=(self._safe_id(event.name) or None) if event.name else None,
            detail=self._details(event.detail, None),
            meta=self._safe_ids(failure_meta(event.meta)),
        )

    def _failed_report(self, event: Data) -> Data:
        report = SafeReport(self.is_code)
        data = event.data if isinstance(event.data, dict) else {"value": event.data}
        name = self._safe_id(str(data.get("name", ""))) or "custom"
        rest = {key: item for key, item in data.items() if key != "name"}
        return msgspec.structs.replace(
            event,
            data={"name": name, **report.copy_fields(rest)},
            metadata=report.copy_fields(event.metadata) if event.metadata else None,
            meta=self._safe_ids(failure_meta(event.meta)),
        )

    def _details(self, details: Any, raw: str | None) -> Any:
        if not self._debug:
            return None
        details = self._budget.value(details, limit=DETAIL_LIMIT) if details is not None else None
        if not raw:
            return details
        message = self._budget.value(raw, limit=DETAIL_LIMIT) or WITHHELD
        if details is None:
            return {"upstream_message": message}
        return {"upstream_message": message, "upstream_details": details}

    def _safe_ids(self, meta: Meta | None) -> Meta | None:
        if not meta:
            return meta
        safe = {
            name: self._safe_id(value) if isinstance(value, str) else value for name, value in meta.items()
        }
        return cast("Meta", safe)

    def _safe_id(self, text: str) -> str:
        if is_exception_text(text) and not _CODE.fullmatch(text):
            return REDACTED
        return self._budget.id(text) or REDACTED

    def is_code(self, text: str) -> bool:
        """Return whether `text` is an id or a code, and not a secret key."""
        return _CODE.fullmatch(text) is not None and self._budget.id(text) == text

    def _is_machine_code(self, code: str) -> bool:
        return MACHINE_CODE.fullmatch(code) is not None and self._budget.id(code) == code

    def _is_safe_code(self, code: str) -> bool:
        """Return whether an error may have this code. Codes of tools are only for `tool_call_end.error`."""
        return code in CODES or (code not in TOOL_CODES and self._is_machine_code(code))


_MOST_STARTS: Final = 16
_HARMLESS_STARTS: Final[set[tuple[tuple[str, str], ...]]] = set()
"""Fields of stream starts that were sent unchanged: all starts of one model have equal fields."""


def _is_harmless(extra: Mapping[str, Any]) -> bool:
    """Return whether a start with equal fields was sent unchanged."""
    try:
        return len(extra) <= _FEW_FIELDS and tuple(extra.items()) in _HARMLESS_STARTS
    except TypeError:  # a value is a list or an object
        return False


def _remember_harmless(extra: Mapping[str, Any]) -> None:
    """Remember the fields of a start that was sent unchanged, if they are few and hold only short texts."""
    if len(extra) > _FEW_FIELDS:
        return
    for name, value in extra.items():
        if type(value) is not str or len(value) > _CACHED or len(name) > _CACHED:
            return
    if len(_HARMLESS_STARTS) >= _MOST_STARTS:
        _HARMLESS_STARTS.clear()
    _HARMLESS_STARTS.add(tuple(extra.items()))


def _is_stopped(step: Status) -> bool:
    """Return whether a step says that its run was stopped."""
    return isinstance(step.detail, str) and step.detail.lower() in _STOPPED


def _looked_through(extra: Any, report: CancelledReport) -> Any:
    """Return `extra` as `report` copies it; containers without a text are skipped, however large they are."""
    if not isinstance(extra, dict):
        return report.copy(extra)
    bare = {
        name for name, value in extra.items() if isinstance(value, dict | list) and not _holds_text(value)
    }
    copied = report.copy({name: True if name in bare else value for name, value in extra.items()})
    if len(copied) != len(extra):  # two names were withheld
        return report.copy(extra)
    pairs = zip(extra.items(), copied.items(), strict=True)
    return {key: value if name in bare else safe for (name, value), (key, safe) in pairs}


def _holds_text(value: Any) -> bool:
    """Return whether a JSON value holds a text of more than one letter."""
    match value:
        case str():
            return len(value) > 1
        case dict():
            return any(len(str(key)) > _LONGEST_NAME or _holds_text(item) for key, item in value.items())
        case list():
            return any(map(_holds_text, value))
    return False


def _unchanged(text: str) -> str:
    return text


def _without_traces(result: Any) -> Any:
    """Return the output of a failed call without texts that are stack traces."""
    match result:
        case str():
            return None if is_stack_trace(result) else result
        case dict():
            return {
                name: kept
                for name, item in result.items()
                if not is_stack_trace(str(name)) and (kept := _without_traces(item)) is not None
            }
        case list():
            return [_without_traces(item) for item in result]
    return result


def _is_verdict(value: Any) -> bool:
    """Return whether a field only states that there is a failure, such as `status: failed`."""
    return isinstance(value, int) or (isinstance(value, str) and not any(map(str.isspace, value)))


def _is_failed_data(event: Data) -> bool:
    """Return whether custom data reports a failure, in its value or in the fields beside the value."""
    meta = event.meta
    return is_failed_report(event.data) or (meta is not None and reports_failure(meta.get("extra")))


def _is_failed_step(step: Status) -> bool:
    """Return whether a step has failed, judged by its state, its names or any other field."""
    meta = step.meta or {}
    return (
        step.state == "failed"
        or any(is_failing_name(name) for name in (step.name, meta.get("node_name")) if name)
        or reports_failure(step.detail)
        or reports_failure(meta.get("extra"))
    )


def _names_failure(name: str) -> bool:
    """Return whether a field name is one that reports a failure."""
    return is_failing_name(name) or is_stack_trace(name)


_reports_by_name: Final = lru_cache(maxsize=64)(_names_failure)
"""`_names_failure` with a cache, for names up to `_CACHED` characters: a stream has few different names."""


def is_failed_report(data: Any) -> bool:
    """Return whether an unknown event is the report of a failure."""
    if not isinstance(data, dict):
        return reports_failure(data)
    name = data.get("name")
    if isinstance(name, str) and (_reports_by_name(name) if len(name) <= _CACHED else _names_failure(name)):
        return True
    is_enveloped = len(data) == len(_ENVELOPE) and data.keys() == _ENVELOPE
    return reports_failure(data["value"] if is_enveloped else data)
