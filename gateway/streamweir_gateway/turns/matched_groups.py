"""Matches the messages of the assistant in a request with kept turns.

A client may split a turn into several messages: a text, each call, a text after them, and between them the
results of calls that the upstream has run itself. Neighbouring messages may also be several turns, if an
answer was paused. So each message is compared together with the messages directly before it, beginning with
the most messages, until they match a turn. A row of messages with calls may be long: it is compared as a
whole first.

Source: the conversation contract, section 4 (where it goes back).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from streamweir.requests.canonical import Message
from streamweir_gateway.turns.assistant_groups import AssistantGroup, joined_group
from streamweir_gateway.turns.stored_turn import StoredTurn
from streamweir_gateway.turns.text_names import TextNames
from streamweir_gateway.turns.turn_names import TurnOwner

__all__ = ["MatchedGroup", "matched_groups", "names_of_turns"]

_MOST_JOINED: Final = 16
"""The most messages into which one turn may be split."""

_MOST_TEXT: Final = 1 << 20
"""The most characters of joined texts in one request, so that the cost does not exceed that of its bytes."""

_SPAN: Final = 64
"""The characters that each joined message counts towards `_MOST_TEXT`, besides its text."""


class MatchedGroup(NamedTuple):
    """Messages of the assistant, and the turn that they match.

    Attributes:
        group: the messages.
        turn: the kept turn; None if the messages match no kept turn.
        parts_of: turns that contain a part of the messages, if the messages do not match a turn.
    """

    group: AssistantGroup
    turn: StoredTurn | None = None
    parts_of: Sequence[StoredTurn] = ()


def names_of_turns(
    groups: Sequence[AssistantGroup], messages: Sequence[Message], owner: TurnOwner, texts_of: TextNames
) -> list[list[str]]:
    """Return, for each message of the assistant, the names of turns that may end with it.

    A turn is stored under the first call that the client runs, or under its text if it has no such call.

    Args:
        groups: each message of the assistant.
        messages: the messages of the request.
        owner: the endpoint and the client.
        texts_of: gives the names of texts, and counts them.
    """
    found: list[list[str]] = []
    left = _MOST_TEXT
    for place, group in enumerate(groups):
        names = [owner.name_of_call(call["id"]) for call in group.calls]
        if texts := group.texts:
            names += texts_of.names("".join(texts), group.asked)
        if left > 0 and not group.calls and not group.is_first(messages):
            size = len(texts)
            for span in _spans(groups[max(0, place - _MOST_JOINED) : place], group, messages):
                left -= _SPAN
                if left > 0 and len(joined := span.texts) > size:
                    size, text = len(joined), "".join(joined)
                    left -= len(text)
                    names += texts_of.names(text, span.asked)
        found.append(names)
    return found


def matched_groups(
    groups: Sequence[AssistantGroup],
    messages: Sequence[Message],
    names: Sequence[Sequence[str]],
    stored: Mapping[str, StoredTurn],
) -> list[MatchedGroup]:
    """Return the assistant's messages with their turns, oldest first. Neighbours without a turn are joined.

    Args:
        groups: each message of the assistant.
        messages: the messages of the request.
        names: for each group, the names of turns that may end with it (`names_of_turns`).
        stored: the kept turns with these names.
    """
    found: list[MatchedGroup] = []
    turns_of = [[stored[name] for name in of_group if name in stored] for of_group in names]
    matched = 0
    for place, (group, own) in enumerate(zip(groups, turns_of, strict=True)):
        if place < matched:
            continue
        end = _end_of_row(groups, place)
        row = _row_match(found, groups[place:end], turns_of[place:end], messages)
        if row is not None:
            _drop_matched(found, row)
            match, matched = row, end
        elif group.is_first(messages):
            match = _match((), group, messages, own)
        elif found and (longer := _extended(found[-1], group, messages, own)) is not None:
            found[-1] = longer
            continue
        else:
            match = _match_with_earlier(found, group, messages, own)
        found.append(match)
    return _with_joined_rest(found)


def _match_with_earlier(
    found: list[MatchedGroup], group: AssistantGroup, messages: Sequence[Message], own: Sequence[StoredTurn]
) -> MatchedGroup:
    """Return the match of a message and earlier messages of its turn, which are removed from `found`."""
    before = _free(found)
    turns = [*own, *(turn for entry in before for turn in entry.parts_of)][:_MOST_JOINED]
    match = _match([entry.group for entry in before], group, messages, turns)
    if match.turn is None:
        return MatchedGroup(group, parts_of=own)
    _drop_matched(found, match)
    return match


def _drop_matched(found: list[MatchedGroup], match: MatchedGroup) -> None:
    """Remove the messages of a match from `found`."""
    while found and found[-1].group.begin >= match.group.begin:
        found.pop()


def _end_of_row(groups: Sequence[AssistantGroup], place: int) -> int:
    """Return the index after a row of neighbours with calls that begins at `place`; `place` without a row."""
    if not groups[place].calls or (place and _is_row(groups[place - 1], groups[place])):
        return place
    end = place + 1
    while end < len(groups) and _is_row(groups[end - 1], groups[end]):
        end += 1
    return end if end > place + 1 else place


def _is_row(before: AssistantGroup, group: AssistantGroup) -> bool:
    return before.end == group.begin and bool(before.calls) and bool(group.calls)


def _row_match(
    found: Sequence[MatchedGroup],
    row: Sequence[AssistantGroup],
    turns_of: Sequence[Sequence[StoredTurn]],
    messages: Sequence[Message],
) -> MatchedGroup | None:
    """Return the match of a row of messages with calls, and the texts directly before; None without a match.

    Args:
        found: the entries before the row.
        row: the messages.
        turns_of: for each message, the turns that may end with it.
        messages: the messages of the request.
    """
    turns = [turn for own in turns_of for turn in own][:_MOST_JOINED]
    if not turns:
        return None
    before = [] if row[0].is_first(messages) else [entry.group for entry in _free(found)]
    while before and before[-1].end != row[0].begin:
        before.pop()
    for span in (_joined([*before, *row]), _joined(row)):
        for turn in turns:
            if span.is_turn(turn):
                return MatchedGroup(span, turn)
    return None


def _match(
    before: Sequence[AssistantGroup],
    group: AssistantGroup,
    messages: Sequence[Message],
    turns: Sequence[StoredTurn],
) -> MatchedGroup:
    """Return the longest run of messages up to `group` that matches a turn."""
    if not before or not turns:
        turn = next((turn for turn in turns if group.is_turn(turn)), None)
        return MatchedGroup(group, turn, () if turn is not None else turns)
    for span in reversed([*_spans(before, group, messages)]):
        for turn in turns:
            if _may_be(span, turn) and span.is_turn(turn) and _has_run(turn, span, messages):
                return MatchedGroup(span, turn)
    return MatchedGroup(group)


def _may_be(span: AssistantGroup, turn: StoredTurn) -> bool:
    """Return whether the turn may match. With results between the messages, the upstream has run a call."""
    has_results = span.end - span.begin > len(span.messages)
    return not has_results or any(call.is_executed for call in turn.calls)


def _free(found: Sequence[MatchedGroup]) -> Sequence[MatchedGroup]:
    """Return the last messages of `found` that match no turn."""
    begin = len(found)
    while begin and found[begin - 1].turn is None and len(found) - begin < _MOST_JOINED:
        begin -= 1
    return found[begin:]


def _spans(
    before: Sequence[AssistantGroup], group: AssistantGroup, messages: Sequence[Message]
) -> Iterator[AssistantGroup]:
    """Yield a message, then the message with more and more of the messages before it."""
    span = group
    yield span
    for earlier in reversed(before):
        if any(message["role"] != "tool" for message in messages[earlier.end : span.begin]):
            return
        span = joined_group(earlier, span)
        yield span


def _extended(
    last: MatchedGroup, group: AssistantGroup, messages: Sequence[Message], own: Sequence[StoredTurn]
) -> MatchedGroup | None:
    """Return the last turn with one more message that belongs to it; None otherwise.

    The message has calls that the upstream has run, or the text of the turn that follows its calls.
    """
    turn = last.turn
    if turn is None or group.is_first(messages):
        return None
    if not group.calls:
        follows = last.group.end == group.begin and not own
        is_part = follows and bool(turn.calls) and group.has_texts_of(bytes(turn.message))
        return MatchedGroup(joined_group(last.group, group), turn) if is_part else None
    if not any(call.is_executed for call in turn.calls):
        return None
    spans = [*_spans([last.group], group, messages)]
    span = spans[-1]
    is_longer = len(spans) > 1 and span.is_turn(turn) and _has_run(turn, span, messages)
    return MatchedGroup(span, turn) if is_longer else None


def _has_run(turn: StoredTurn, span: AssistantGroup, messages: Sequence[Message]) -> bool:
    """Return whether the upstream has run the calls of all results between the messages."""
    executed = {call.client_id for call in turn.calls if call.is_executed}
    between = messages[span.begin : span.end]
    return all(message.get("tool_call_id") in executed for message in between if message["role"] == "tool")


def _with_joined_rest(found: Sequence[MatchedGroup]) -> list[MatchedGroup]:
    """Return the entries, with neighbours that match no turn joined to one entry."""
    joined: list[MatchedGroup] = []
    neighbours: list[AssistantGroup] = []
    for entry in found:
        follows = bool(neighbours) and neighbours[-1].end == entry.group.begin
        if neighbours and not (follows and entry.turn is None):
            joined.append(MatchedGroup(_joined(neighbours)))
            neighbours = []
        if entry.turn is None:
            neighbours.append(entry.group)
        else:
            joined.append(entry)
    return [*joined, MatchedGroup(_joined(neighbours))] if neighbours else joined


def _joined(groups: Sequence[AssistantGroup]) -> AssistantGroup:
    if len(groups) == 1:
        return groups[0]
    messages = [message for group in groups for message in group.messages]
    return groups[-1]._replace(begin=groups[0].begin, messages=messages)
