"""The kept turns of one request, and the request with them for one upstream.

Source: the conversation contract, section 4 (where it goes back, to whom).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from streamweir.requests.canonical import Message, Request
from streamweir_gateway.turns.assistant_groups import AssistantGroup, groups_of
from streamweir_gateway.turns.kept_turns import KeptTurns
from streamweir_gateway.turns.stored_turn import StoredTurn
from streamweir_gateway.turns.turn_names import TurnOwner

__all__ = ["NO_TURNS", "FoundTurns", "Restored", "find_turns"]


class Restored(NamedTuple):
    """A request with kept turns in the place of the assistant's messages.

    Attributes:
        request: the canonical request.
        restored: how many turns it has.
    """

    request: Request
    restored: int = 0


class FoundTurns(NamedTuple):
    """The kept turns of one request.

    Attributes:
        found: each with the messages that it takes the place of, oldest first.
    """

    found: Sequence[tuple[AssistantGroup, StoredTurn]] = ()

    @property
    def latest_made_by(self) -> str | None:
        """The digest of the upstream that made the latest turn; None without a turn."""
        return self.found[-1][1].made_by if self.found else None

    def put_back(self, request: Request, made_by: str) -> Restored:
        """Return the request for one upstream, with the turns that this upstream made.

        Args:
            request: the request in which the turns were found.
            made_by: the digest of the upstream.
        """
        own = [(group, turn) for group, turn in self.found if turn.made_by == made_by]
        if not own:
            return Restored(request)
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
        changed: dict[str, Any] = {
            "messages": [_with_ids(m, ids) for m in restored if not _ends(m, executed)]
        }
        if answers := request.get("resume"):
            changed["resume"] = [
                {**answer, "interaction_id": ids.get(answer["interaction_id"], answer["interaction_id"])}
                for answer in answers
            ]
        return Restored(cast("Request", {**request, **changed}), len(own))


NO_TURNS = FoundTurns()


async def find_turns(turns: KeptTurns, owner: TurnOwner, messages: Sequence[Message]) -> FoundTurns:
    """Return the kept turns among the messages of a request; all are read in one round trip.

    Args:
        turns: of the endpoint.
        owner: the endpoint and the client.
        messages: of the request.
    """
    groups = groups_of(messages)
    names = [[*group.names(owner)] for group in groups]
    stored = await turns.read(name for of_group in names for name in of_group)
    found = (
        (group, turn)
        for group, of_group in zip(groups, names, strict=True)
        if (turn := _turn_of(group, of_group, stored)) is not None
    )
    return FoundTurns([*found])


def _turn_of(
    group: AssistantGroup, names: Sequence[str], stored: Mapping[str, StoredTurn]
) -> StoredTurn | None:
    for name in names:
        turn = stored.get(name)
        if turn is not None and group.is_turn(turn):
            return turn
    return None


def _written(group: AssistantGroup, turn: StoredTurn) -> Message:
    """Return one message in place of several, with the turn."""
    first = group.messages[0]
    message: dict[str, Any] = {**first, "turn": bytes(turn.message)}
    if len(group.messages) > 1:
        message["content"] = [{"type": "text", "text": text} for text in group.texts]
    if calls := group.calls:
        message["tool_calls"] = calls
    return cast("Message", message)


def _ends(message: Message, executed: set[str]) -> bool:
    """Return whether a message is the result of a call that the upstream has run: the turn holds it."""
    return message["role"] == "tool" and message.get("tool_call_id") in executed


def _with_ids(message: Message, ids: Mapping[str, str]) -> Message:
    """Return the message with the upstream's ids of calls in place of the client's."""
    changed: dict[str, Any] = {}
    if (call_id := message.get("tool_call_id", "")) in ids:
        changed["tool_call_id"] = ids[call_id]
    if calls := message.get("tool_calls"):
        changed["tool_calls"] = [{**call, "id": ids.get(call["id"], call["id"])} for call in calls]
    return cast("Message", {**message, **changed}) if changed else message
