"""Finds the kept turns of one request, and puts them into the request for one upstream.

Source: the conversation contract, section 4 (where it goes back, to whom).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from streamweir.requests.canonical import Message, Request
from streamweir.requests.opaque_values import OpaqueValues
from streamweir_gateway.turns.assistant_groups import AssistantGroup, are_within, groups_of
from streamweir_gateway.turns.kept_turns import KeptTurns
from streamweir_gateway.turns.matched_groups import MatchedGroup, matched_groups, names_of_turns
from streamweir_gateway.turns.stored_turn import StoredTurn
from streamweir_gateway.turns.text_names import TextNames
from streamweir_gateway.turns.turn_names import TurnOwner

__all__ = ["NO_TURNS", "FoundTurns", "Restored", "find_turns", "unmatched"]


class Restored(msgspec.Struct, frozen=True):
    """A request with kept turns in the place of the assistant's messages.

    Attributes:
        request: the canonical request.
        restored: the number of kept turns in the request.
        carried: the number of other messages with opaque values of the upstream, which clients sent back.
        lost: the number of messages that have neither, although they hold a call or another upstream's value.
    """

    request: Request
    restored: int = 0
    carried: int = 0
    lost: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """The counts by name, without counts of 0."""
        if not (self.restored or self.carried or self.lost):
            return {}
        counts = {"restored": self.restored, "carried": self.carried, "lost": self.lost}
        return {name: count for name, count in counts.items() if count}


class FoundTurns(NamedTuple):
    """The kept turns of one request.

    Attributes:
        matched: the messages of the assistant with their turns, oldest first.
        texts: names the turns without calls that follow these messages; None: no turns are kept.
    """

    matched: Sequence[MatchedGroup] = ()
    texts: TextNames | None = None

    @property
    def latest_made_by(self) -> str | None:
        """The digest of the upstream that made the latest turn; None if no turn was found."""
        turns = (entry.turn for entry in reversed(self.matched))
        return next((turn.made_by for turn in turns if turn is not None), None)

    def put_back(self, request: Request, made_by: str, opaque: OpaqueValues) -> Restored:
        """Return the request for one upstream, with the turns that this upstream has made.

        Args:
            request: the request in which the turns were found.
            made_by: the digest of the upstream.
            opaque: finds the upstream's values that the client has sent back. If they differ from those of
                the kept turn, the client's values are used and the turn is left out.
        """
        own: list[tuple[AssistantGroup, StoredTurn]] = []
        carried = lost = 0
        for group, turn, _ in self.matched:
            values = group.opaque_values(opaque)
            if turn is not None and turn.made_by == made_by and are_within(values, bytes(turn.message)):
                own.append((group, turn))
            elif values:
                carried += 1
            elif group.calls or group.holds_opaque:
                lost += 1
        changed = _with_turns(request, own) if own else request
        return Restored(changed, len(own), carried, lost)


def _with_turns(request: Request, own: Sequence[tuple[AssistantGroup, StoredTurn]]) -> Request:
    """Return a request with kept turns in place of messages, and with the upstream's call ids."""
    messages = request.get("messages", [])
    ids = {call.client_id: call.upstream_id or call.client_id for _, turn in own for call in turn.calls}
    executed = {call.client_id for _, turn in own for call in turn.calls if call.is_executed}
    restored: list[Message] = []
    at = 0
    for group, turn in own:
        restored += messages[at : group.begin]
        restored.append(_written(group, turn))
        at = group.end
    restored += messages[at:]
    changed: dict[str, Any] = {"messages": [_with_ids(m, ids) for m in restored if not _ends(m, executed)]}
    if answers := request.get("resume"):
        changed["resume"] = [
            {**answer, "interaction_id": ids.get(answer["interaction_id"], answer["interaction_id"])}
            for answer in answers
        ]
    return cast("Request", {**request, **changed})


NO_TURNS = FoundTurns()


async def find_turns(turns: KeptTurns, owner: TurnOwner, messages: Sequence[Message]) -> FoundTurns:
    """Return the kept turns among the messages of a request.

    All turns are read in one round trip to the store.

    Args:
        turns: the turns of the endpoint.
        owner: the endpoint and the client.
        messages: the messages of the request, of which one is the assistant's at least.
    """
    groups, texts = groups_of(messages), TextNames(owner)
    names = names_of_turns(groups, messages, owner, texts)
    stored = await turns.read(name for of_group in names for name in of_group)
    return FoundTurns(matched_groups(groups, messages, names, stored), texts)


def unmatched(messages: Sequence[Message]) -> FoundTurns:
    """Return the assistant's messages of a request without any kept turn."""
    groups = groups_of(messages)
    return FoundTurns(matched_groups(groups, messages, [()] * len(groups), {}))


def _written(group: AssistantGroup, turn: StoredTurn) -> Message:
    """Return the turn as one message, which replaces the messages of the group."""
    first = group.messages[0]
    message: dict[str, Any] = {**first, "turn": bytes(turn.message)}
    if len(group.messages) > 1:
        message["content"] = [{"type": "text", "text": text} for text in group.texts]
    if calls := group.calls:
        message["tool_calls"] = calls
    return cast("Message", message)


def _ends(message: Message, executed: set[str]) -> bool:
    """Return whether a message is the result of a call that the upstream ran; the turn contains it."""
    return message["role"] == "tool" and message.get("tool_call_id") in executed


def _with_ids(message: Message, ids: Mapping[str, str]) -> Message:
    """Return the message with the upstream's call ids in place of the client's."""
    changed: dict[str, Any] = {}
    if (call_id := message.get("tool_call_id", "")) in ids:
        changed["tool_call_id"] = ids[call_id]
    if calls := message.get("tool_calls"):
        changed["tool_calls"] = [{**call, "id": ids.get(call["id"], call["id"])} for call in calls]
    return cast("Message", {**message, **changed}) if changed else message
