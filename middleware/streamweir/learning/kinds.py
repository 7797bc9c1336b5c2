"""Sorts the frames of recorded bodies: groups of messages, end marks and signs of life."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final, NamedTuple

from streamweir.errors import MalformedEvent
from streamweir.jsontext import parse_json
from streamweir.learning.field_names import (
    IDLE,
    NAMES_OF_MESSAGES,
    RESULT_WORDS,
    START_WORDS,
    TOOL_WORDS,
    plain,
    words_of,
)
from streamweir.learning.foreign_words import english
from streamweir.learning.groups import Group, Message, split
from streamweir.learning.observed_frames import NO_JSON, Observed, prefixes_of
from streamweir.learning.outcomes import divided_by_outcome
from streamweir.learning.places import Place, expression, parsed

__all__ = ["Kinds", "is_end_mark", "kinds_of", "unwrapping"]

_END_MARK: Final = re.compile(
    r"\"?[\[<{(#*=-]{0,16}\s{0,16}/?(?:done|end|eos|eof|finish(?:ed)?|stop|completed?|close|fin|over)"
    r"(?:[_ ]?of[_ ]?stream)?\s{0,16}[\]>})#*=-]{0,16}\"?",
    re.IGNORECASE,
)
_NEARLY_ALL: Final = 0.8

MAX_KINDS: Final = 100
"""The most groups that get a rule; the rarest are left out. All groups are compared with each other."""

_MAX_NAMES: Final = 16
"""The most end marks, names of signs of life, and spellings of one field name that are kept."""


class Kinds(NamedTuple):
    """The sorted frames.

    Attributes:
        groups: the groups that get a rule, in order of appearance.
        end_marks: texts of frames that end a stream, such as `[DONE]`.
        idle: names of signs of life, such as `ping`.
        is_text: frames are text, not JSON.
        left_out: the groups beyond `MAX_KINDS`.
    """

    groups: list[Group]
    end_marks: list[str]
    idle: list[str]
    is_text: bool
    left_out: list[Group]


def unwrapping(observed: list[Observed]) -> str | None:
    """Return the `unwrap` expression if the frames contain their messages as JSON text; None otherwise."""
    values = [one.message for one in observed if one.message is not NO_JSON]
    texts = [value for value in values if isinstance(value, str)]
    if texts and len([text for text in texts if isinstance(parsed(text), dict)]) >= len(values) * _NEARLY_ALL:
        return "from_json(@)"
    objects = [value for value in values if isinstance(value, dict)]
    counts = Counter(key for value in objects for key in value)
    for key in [key for key, count in counts.items() if count >= len(values) * _NEARLY_ALL]:
        held = [value[key] for value in objects if value.get(key) is not None]
        given = [text for text in held if isinstance(parsed(text), dict)]
        if given and len(given) == len(held) and len(held) >= len(values) * _NEARLY_ALL:
            return f"from_json({expression((key,))})"
    return None


def kinds_of(observed: list[Observed], framing: str, unwrap: str | None) -> Kinds:
    """Sort the frames of all bodies."""
    end_marks = _end_marks(observed)
    idle: dict[str, None] = {}
    spoken: list[Observed] = []
    for one in observed:
        name = _idle_name(one)
        if name and (name in idle or len(idle) < _MAX_NAMES):
            idle[name] = None
        elif one.text.strip() not in end_marks and (one.text.strip() or one.frame.event):
            spoken.append(one)
    groups = _lines(spoken) if framing == "lines" else _frames(spoken, unwrap)
    is_text = framing != "lines" and bool(groups) and all(group.is_text for group in groups)
    groups = divided_by_outcome([group for group in groups if group.messages])
    groups.sort(key=lambda group: len(group.messages), reverse=True)
    known, left_out = groups[:MAX_KINDS], groups[MAX_KINDS:]
    known.sort(key=lambda group: group.messages[0].frame)
    return Kinds(known, end_marks, [*idle], is_text, left_out)


def _end_marks(observed: list[Observed]) -> list[str]:
    """Return texts like `[DONE]` that are the last frame of a body, or occur in brackets once per body."""
    last: dict[int, Observed] = {}
    bracketed: Counter[tuple[int, str]] = Counter()
    for one in observed:
        text = one.text.strip()
        if _idle_name(one) or not text or isinstance(one.message, dict | list):
            continue
        last[one.body] = one
        if is_end_mark(text) and not text.strip('"').isalpha():
            bracketed[one.body, text] += 1
    last_of_all = {one.body: one for one in observed if not _idle_name(one)}
    final = [one.text.strip() for one in last.values() if one is last_of_all[one.body]]
    once = [text for (_, text), count in bracketed.items() if count == 1]
    return [*dict.fromkeys(text for text in (*final, *once) if is_end_mark(text))][:_MAX_NAMES]


def is_end_mark(text: str) -> bool:
    """Return whether a text is a word that marks the end, such as `[DONE]`."""
    return _END_MARK.fullmatch(text) is not None


def _idle_name(one: Observed) -> str | None:
    """Return the name of a frame if it is a sign of life; None otherwise."""
    names = [one.frame.event]
    if isinstance(one.message, dict):
        names += [one.message.get(name) for name in one.message if plain(name) in NAMES_OF_MESSAGES[:9]]
    elif one.message is NO_JSON or isinstance(one.message, str):
        names.append(one.text.strip().strip('"'))
    return next((name for name in names if isinstance(name, str) and IDLE.search(english(name))), None)


# Messages


def _frames(spoken: list[Observed], unwrap: str | None) -> list[Group]:
    raw = {one.frame.event for one in spoken if one.message is NO_JSON}
    texts = [
        one
        for one in spoken
        if one.message is NO_JSON or (one.frame.event in raw and not isinstance(one.message, dict | list))
    ]
    known = {id(one) for one in texts}
    given = [one for one in spoken if id(one) not in known]
    groups = [_text_group(held, event) for event, held in _by_event(texts).items()]
    messages = [Message(one.body, one.number, one.frame.event, _unwrapped(one, unwrap)) for one in given]
    events = [*dict.fromkeys(message.event for message in messages)]
    if len(events) < 2 or _names_suffice(messages):
        return [*groups, *split(messages)]
    held: dict[str | None, list[Message]] = {}
    for message in messages:
        held.setdefault(message.event, []).append(message)
    for event, found in held.items():
        groups += split(found, event or "message")
    return groups


def _by_event(observed: list[Observed]) -> dict[str | None, list[Observed]]:
    found: dict[str | None, list[Observed]] = {}
    for one in observed:
        found.setdefault(one.frame.event, []).append(one)
    return found


def _text_group(texts: list[Observed], event: str | None) -> Group:
    messages = [Message(one.body, one.number, event, one.text) for one in texts]
    return Group(messages, event=event or "message", root=lambda _: "_text", is_text=True)


def _unwrapped(one: Observed, unwrap: str | None) -> Any:
    if unwrap is None:
        return one.message
    if isinstance(one.message, str):
        return parsed(one.message) or one.message
    for key, value in one.message.items() if isinstance(one.message, dict) else ():
        if f"from_json({expression((key,))})" == unwrap:
            return parsed(value) or one.message
    return one.message


def _names_suffice(messages: list[Message]) -> bool:
    """Return whether the SSE event name follows from a field in every message."""
    if not all(isinstance(message.value, dict) for message in messages):
        return False
    keys = dict.fromkeys(key for message in messages for key in message.value)
    for name in [key for key in keys if plain(key) in NAMES_OF_MESSAGES[:9]][:_MAX_NAMES]:
        events: dict[Any, set[str | None]] = {}
        for message in messages:
            value = message.value.get(name)
            events.setdefault(value if isinstance(value, str) else None, set()).add(message.event)
        if None not in events and all(len(found) == 1 for found in events.values()):
            return True
    return False


# Lines


def _lines(spoken: list[Observed]) -> list[Group]:
    """Group lines by their first word, and parse the text after it if that is JSON or a call."""
    words = prefixes_of(one.text for one in spoken)[:MAX_KINDS]
    called: set[str] = set()
    groups: list[Group] = []
    for word in words:
        lines = [
            one
            for one in spoken
            if one.text.startswith(word) and one.text[len(word) :][:1] in (" ", "\t", ":", "")
        ]
        separator = max({one.text[len(word) : len(word) + 1] for one in lines}, default="")
        if separator == ":" and all(one.text[len(word) : len(word) + 2] == ": " for one in lines):
            separator = ": "
        prefix = word + separator
        rests = [(one, one.text[len(prefix) :]) for one in lines]
        groups.append(_line_group(prefix, rests, called))
    return groups


def _line_group(prefix: str, rests: list[tuple[Observed, str]], called: set[str]) -> Group:
    texts = [rest for _, rest in rests]
    values: list[Any] = [_json(text) for text in texts]
    words = set(words_of([prefix]))
    if all(isinstance(value, dict) for value in values):
        return _group(prefix, rests, values, lambda place: expression(place, "from_json(_text)"))
    if all(isinstance(value, str) for value in values):
        return _group(prefix, rests, values, lambda _: "from_json(_text)")
    is_call = bool(words & (TOOL_WORDS | START_WORDS | RESULT_WORDS)) and not words & {"ok", "answer"}
    pieces = [text.split(" ", 1) for text in texts]
    if is_call and all(len(piece) > 1 for piece in pieces):
        return _call_group(prefix, rests, called, ends=bool(words & RESULT_WORDS))
    return _group(prefix, rests, texts, lambda _: "_text", is_text=True)


def _call_group(prefix: str, rests: list[tuple[Observed, str]], called: set[str], *, ends: bool) -> Group:
    """Parse lines of the form `NAME {...}`, `ID NAME {...}` or `NAME some text`."""
    texts = [rest for _, rest in rests]
    count = 1
    begins_json = [text.split(" ", 2)[2][:1] in '{["' for text in texts if text.count(" ") > 1]
    if (
        len(begins_json) == len(texts)
        and all(begins_json)
        and not all(_is_json_behind(text) for text in texts)
    ):
        count = 2
    firsts = [text.split(" ", count)[:count] for text in texts]
    names = ["id", "name"] if count > 1 else ["name"]
    if count == 1 and ends and called and not {first[0] for first in firsts} <= called:
        names = ["id"]
    called.update(first[-1] for first in firsts if not ends)
    data = "result" if ends else "arguments"
    tails = [text.split(" ", count)[count] for text in texts]
    is_json = all(_json(tail) is not None for tail in tails)
    values = [
        {**dict(zip(names, first, strict=True)), data: _json(tail) if is_json else tail}
        for first, tail in zip(firsts, tails, strict=True)
    ]
    tail = f"split(_text, ' ', `{count}`)[{count}]"
    roots = {name: f"split(_text, ' ')[{number}]" for number, name in enumerate(names)}
    roots[data] = f"from_json({tail})" if is_json else tail

    def root(place: Place) -> str:
        return expression(place[1:], roots[str(place[0])]) if place else "_text"

    return _group(prefix, rests, values, root, is_call=True)


def _is_json_behind(text: str) -> bool:
    return _json(text.split(" ", 1)[1]) is not None


def _group(
    prefix: str,
    rests: list[tuple[Observed, str]],
    values: list[Any],
    root: Any,
    *,
    is_text: bool = False,
    is_call: bool = False,
) -> Group:
    messages = [
        Message(one.body, one.number, None, value) for (one, _), value in zip(rests, values, strict=True)
    ]
    return Group(messages, prefix=prefix, root=root, is_text=is_text, is_call=is_call)


def _json(text: str) -> Any:
    try:
        value = parse_json(text.encode())[0]
    except (MalformedEvent, UnicodeEncodeError):
        return None
    return value if isinstance(value, str | dict | list) else None
