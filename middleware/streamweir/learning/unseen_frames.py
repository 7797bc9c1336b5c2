"""Adds rules for frames of kinds that were not recorded: a run with such a frame after its last text is
not a success.

The last rule takes such a frame, passes it on as `custom` and remembers it. A later text or tool call clears
the memory. An end after a remembered frame is not evidence of success, so the stream counts as truncated. If
only the end of the body ends a stream, the frame itself is an error.
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.learning.draft import Draft, conditions_of
from streamweir.learning.found_meanings import Meaning
from streamweir.learning.groups import Group
from streamweir.learning.kinds import Kinds
from streamweir.learning.outcome_signs import has_sentence
from streamweir.learning.places import expression
from streamweir.learning.trial import compiled

__all__ = ["guarded"]

_STATE: Final = "unseen_frame"
_WHEN: Final = f"!(_state.{_STATE})"
_ENDS: Final = frozenset({"session_end", "complete"})
_SPOKEN: Final = frozenset(
    {"content", "thinking", "tool_call_start", "tool_call_delta", "tool_call_end", "error"}
)
_MOST_RULES: Final = 100


def guarded(draft: Draft, kinds: Kinds) -> Draft:
    """Return the draft with a last rule for frames of other kinds; unchanged if `check` refuses that rule."""
    known = [
        rule
        for meaning in draft.custom
        if not _may_report_failure(meaning, kinds) and (rule := _known(meaning))
    ]
    if kinds.left_out or len(draft.rules) + len(known) >= _MOST_RULES:
        return draft
    is_open = draft.dialect.get("terminal") == ["eof"]
    rules = [
        _with_state(rule, meaning) for rule, meaning in zip(draft.dialect["rules"], draft.rules, strict=True)
    ]
    if is_open:
        rules = draft.dialect["rules"]
    dialect = {**draft.dialect}
    comments = {**draft.comments}
    if not is_open and "terminal" in dialect:
        marks = dialect.pop("terminal")
        known += [{"text": marks, "when": _WHEN, "emit": {"type": "complete"}}]
    last: dict[str, Any] = {} if is_open else {"remember": {_STATE: True}}
    emit: Any = _custom("message")
    last["emit"] = [emit, {"type": "error"}] if is_open else emit
    dialect["rules"] = [*rules, *known, last]
    comments[len(dialect["rules"]) - 1] = [_ABOUT_ERRORS if is_open else _ABOUT_ENDS]
    found, _ = compiled(dialect)
    return draft if found is None else draft._replace(dialect=_ordered(dialect), comments=comments)


_ABOUT_ENDS: Final = (
    "kinds of frames that were not recorded: if one comes behind the last text, the end is no success"
)
_ABOUT_ERRORS: Final = (
    "kinds of frames that were not recorded: no end was seen, so that one of them ends the run as an error"
)


def _ordered(dialect: dict[str, Any]) -> dict[str, Any]:
    """Return the keys in their usual order."""
    order = ("framing", "data", "unwrap", "ignore", "rules", "terminal")
    return {key: dialect[key] for key in order if key in dialect}


def _with_state(rule: dict[str, Any], meaning: Meaning) -> dict[str, Any]:
    """Return a rule with state: its ends require that no unseen frame came, its texts forget it."""
    types = {*meaning.types}
    emit = rule["emit"]
    if types & _ENDS:
        entries = emit if isinstance(emit, list) else [emit]
        found = [_guarded_entry(entry) for entry in entries]
        rule = {**rule, "emit": found if isinstance(emit, list) else found[0]}
    if types & _SPOKEN:
        rule = {**rule, "remember": {_STATE: None}}
    return rule


def _guarded_entry(entry: dict[str, Any]) -> dict[str, Any]:
    if "emit" in entry:
        inner = entry["emit"]
        found = [_guarded_entry(one) for one in (inner if isinstance(inner, list) else [inner])]
        return {**entry, "emit": found if isinstance(inner, list) else found[0]}
    if entry.get("type") not in _ENDS or "status" in entry:
        return entry
    fields = {key: value for key, value in entry.items() if key not in ("type", "when")}
    when = f"({entry['when']}) && {_WHEN}" if "when" in entry else _WHEN
    return {"type": entry["type"], "when": when, **fields}


def _known(meaning: Meaning) -> dict[str, Any] | None:
    """Return the rule for frames that were not understood; None if conditions cannot describe them."""
    group = meaning.group
    rule = conditions_of(group)
    if not rule:
        keys = _common_keys(group)
        rule = {"has": [expression((key,)) for key in keys]} if keys else {}
    if not rule or group.is_text:
        return None
    return {**rule, "emit": _custom(_name(group))}


def _common_keys(group: Group) -> list[str]:
    values = [message.value for message in group.messages]
    if not all(isinstance(value, dict) for value in values):
        return []
    return [key for key in values[0] if all(value.get(key) is not None for value in values)]


def _name(group: Group) -> str:
    """Return the name of these frames when they become `custom`."""
    message = group.messages[0]
    if message.event not in (None, "message"):
        return str(message.event)
    fields = message.value if isinstance(message.value, dict) else {}
    names = (fields[key] for key in ("type", "event", "kind") if isinstance(fields.get(key), str))
    return next(names, "message")


def _custom(name: str) -> dict[str, Any]:
    value = {"name": name.replace("${{", "$${{"), "value": "${{ _message }}"}
    return {"type": "data", "data_type": "custom", "data": value}


def _may_report_failure(meaning: Meaning, kinds: Kinds) -> bool:
    """Return whether frames with a text for people follow the last text, but only in some of the streams."""
    messages = meaning.group.messages
    bodies = {message.body for message in messages}
    others = [group for group in kinds.groups if group is not meaning.group]
    all_bodies = bodies | {message.body for group in others for message in group.messages}
    if len(messages) > len(bodies) or bodies == all_bodies:
        return False
    return all(has_sentence(message.value) for message in messages)
