"""Follows the answer to one attempt, and stores the turn before the client can continue.

    state      entered by                                      what is stored
    ────────   ─────────────────────────────────────────────   ──────────────────────────────────────────
    following  construction                                    nothing
    due        the frame that ends the message: bytes of it    nothing; the caller holds the bytes back,
               are held back by the caller                     and calls `store`
    stored     `store`                                         the turn, unless it has no call and no
                                                               opaque value
    settled    `settle`, at the end of the attempt             the turn, with the parts behind the end;
                                                               nothing if the stream failed

If a stream ends without a frame that ends the message, `settle` stores the turn. If a stream is cancelled, a
turn that was complete before stays stored.

Source: the conversation contract, section 4 (store, then end).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from streamweir.codec.turn_collector import CollectedTurn, TurnCollector
from streamweir.events import (
    Content,
    Event,
    Interaction,
    SessionEnd,
    Stamp,
    Thinking,
    ToolCallEnd,
    ToolCallStart,
)
from streamweir.ids import short_id
from streamweir.translation.sink import ListeningSink
from streamweir_gateway.turns.argument_digest import argument_digest, digest_with_texts
from streamweir_gateway.turns.kept_turns import KeptTurns
from streamweir_gateway.turns.stored_turn import StoredCall, StoredTurn, text_digests
from streamweir_gateway.turns.text_names import TextNames
from streamweir_gateway.turns.turn_names import TurnOwner

__all__ = ["TurnAsked", "TurnRecorder"]

_MOST_CALLS: Final = 1000
"""The most calls of a turn that is kept."""

_NOTHING: Final = -1


class TurnAsked(NamedTuple):
    """The facts about a client's request that are needed to store the turn of the answer.

    Attributes:
        owner: the endpoint and the client.
        made_by: the digest of the upstream that is asked (`upstream_digest`).
        text: the text of the user's last message.
        client_id: returns the client's id of a call, given the upstream's id.
        names: names a turn without calls that follows the request; None: no text of the request counts.
    """

    owner: TurnOwner
    made_by: str
    text: str
    client_id: Callable[[str], str]
    names: TextNames | None = None


class _NotedCall(NamedTuple):
    """A call, noted when it begins, to save time when the turn ends and the client waits."""

    client_id: str
    name: str
    arguments: str
    """The digest of the arguments."""

    with_texts: str | None
    """The digest of the arguments with large integers as texts (`digest_with_texts`), or None."""


class TurnRecorder(ListeningSink):
    """Follows one attempt. The docstring of this file lists its states.

    Attributes:
        collector: builds the turn.
        has_kept: whether the turn is in the store.

    Args:
        turns: the turns of the endpoint.
        asked: the facts about the client's request.
        collector: the collector of the upstream's dialect.
    """

    def __init__(self, turns: KeptTurns, asked: TurnAsked, collector: TurnCollector) -> None:
        self.collector = collector
        self.has_kept = False
        self._turns = turns
        self._asked = asked
        self._calls: dict[str, _NotedCall] = {}
        """The calls by their ids."""
        self._first_name = ""
        """The name of the turn, made from its first call; empty before a call."""
        self._executed: set[str] = set()
        self._asked_of_client: set[str] = set()
        """The ids of calls that the client has to run or to approve."""
        self._is_paused = False
        """Whether the upstream continues when the turn is sent back, and then runs the other calls itself."""
        self._end: str | None = None
        self._stored_at = _NOTHING
        """The collector's count of bytes when the turn was last stored."""
        self._name: str | None = None
        """The name under which the turn is stored."""

    @property
    def is_due(self) -> bool:
        """Whether the message is complete and has parts that are not stored."""
        collector = self.collector
        return collector.is_complete and collector.taken != self._stored_at

    # The sink

    def write(self, event: Event, stamp: Stamp) -> None:
        """Note calls, and the end of the stream."""
        del stamp
        if type(event) is ToolCallStart:
            self._note_call(event)
        elif type(event) is ToolCallEnd:
            self._executed.add(event.tool_id)
        elif type(event) is Interaction:
            self._is_paused = self._is_paused or event.kind == "continue"
            self._asked_of_client.add(event.interaction_id)
        elif type(event) is SessionEnd:
            self._end = event.status

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Ignore pieces of text, because the collector has them."""

    def finish(self) -> None:
        """Do nothing: `settle` stores the turn."""

    def heartbeat(self) -> bytes:
        """Return no bytes, because there is no client."""
        return b""

    def _note_call(self, call: ToolCallStart) -> None:
        if len(self._calls) > _MOST_CALLS:
            return
        client_id = self._asked.client_id(call.tool_id)
        if not self._calls:
            self._first_name = self._asked.owner.name_of_call(client_id)
        digests = argument_digest(call.arguments), digest_with_texts(call.arguments)
        self._calls[call.tool_id] = _NotedCall(client_id, call.tool_name, *digests)

    # Storing

    async def store(self) -> None:
        """Store the turn as it is now, unless the stream has failed. Never raises."""
        if self._end not in (None, "completed", "suspended"):
            return
        self._stored_at = self.collector.taken
        turn = self.collector.turn()
        if turn is None or not (turn.has_call or turn.has_opaque) or len(self._calls) > _MOST_CALLS:
            return
        calls = self._stored_calls(turn)
        name = self._name_of(turn, calls)
        if name is None:
            return
        stored = StoredTurn(self._asked.made_by, calls, text_digests(turn.texts), msgspec.Raw(turn.message))
        self.has_kept = await self._turns.put(name, stored)
        self._name = name if self.has_kept else None

    async def settle(self) -> None:
        """Store the remaining parts of a turn that ended well; forget the turn of a stream that failed."""
        if self._end in ("completed", "suspended"):
            if self.collector.taken != self._stored_at:
                await self.store()
        elif self._end == "error" and self._name is not None:
            name, self._name, self.has_kept = self._name, None, False
            await self._turns.drop(name)

    def _stored_calls(self, turn: CollectedTurn) -> list[StoredCall]:
        own_ids = {short_id(call_id): call_id for call_id in turn.call_ids}
        return [
            StoredCall(
                *(client_id, own_ids.get(tool_id), name, arguments),
                *(self._is_servers(tool_id), with_texts),
            )
            for tool_id, (client_id, name, arguments, with_texts) in self._calls.items()
        ]

    def _is_servers(self, tool_id: str) -> bool:
        """Return whether the upstream has run a call, or will run the call when the turn is sent back."""
        return tool_id in self._executed or (self._is_paused and tool_id not in self._asked_of_client)

    def _name_of(self, turn: CollectedTurn, calls: Sequence[StoredCall]) -> str | None:
        """Return the turn's name: made from the first call that the client runs, or the text, or any call."""
        if calls and not calls[0].is_executed:
            return self._first_name
        owner = self._asked.owner
        for call in calls:
            if not call.is_executed:
                return owner.name_of_call(call.client_id)
        if turn.texts:
            text = "".join(turn.texts)
            names = self._asked.names or TextNames(owner)
            return names.name_of_next(text, self._asked.text)
        return self._first_name if calls else None
