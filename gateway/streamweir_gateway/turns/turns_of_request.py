"""Combines the kept turns in one request with the recorder for the turn of its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from streamweir.codec.dialect import Dialect
from streamweir.requests.canonical import Message, Request
from streamweir.requests.messages import role_of
from streamweir.requests.opaque_values import OpaqueValues
from streamweir_gateway.turns.assistant_groups import text_of_last_question
from streamweir_gateway.turns.found_turns import NO_TURNS, FoundTurns, Restored, find_turns, unmatched
from streamweir_gateway.turns.kept_turns import KeptTurns
from streamweir_gateway.turns.turn_names import TurnOwner, upstream_digest
from streamweir_gateway.turns.turn_recorder import TurnAsked, TurnRecorder

__all__ = ["TurnsOfRequest"]


class TurnsOfRequest(msgspec.Struct, eq=False):
    """The turns of one request.

    Attributes:
        owner: the endpoint and the client.
        messages: the messages of the request.
        turns: stores the turn of the answer; None: the turn is not stored.
        found: the kept turns among the messages, once `find` has been called.
    """

    owner: TurnOwner
    messages: Sequence[Message]
    turns: KeptTurns | None = None
    found: FoundTurns = NO_TURNS

    @property
    def may_be_kept(self) -> bool:
        """Whether kept turns may be among the messages, so that `find` is needed."""
        return "assistant" in map(role_of, self.messages)

    async def find(self, turns: KeptTurns | None) -> None:
        """Find the kept turns, which are read in one round trip to the store.

        Args:
            turns: the turns of the endpoint; None: turns are not stored.
        """
        if turns is None:
            self.found = unmatched(self.messages)
        else:
            self.found = await find_turns(turns, self.owner, self.messages)

    def is_of_latest(self, upstream: str, dialect: Dialect) -> bool:
        """Return whether an upstream has made the latest turn.

        Args:
            upstream: the name or URL of the upstream.
            dialect: the dialect that the upstream speaks.
        """
        return self.found.latest_made_by == upstream_digest(upstream, dialect.name)

    def put_back(self, request: Request, upstream: str, dialect: Dialect) -> Restored:
        """Return the request with the turns that an upstream has made.

        Args:
            request: the request in whose messages the turns were found.
            upstream: the name or URL of the upstream.
            dialect: the dialect that the upstream speaks.
        """
        if not self.found.matched:
            return Restored(request)
        writer = dialect.request_writer
        opaque = OpaqueValues(dialect.name, upstream, "" if writer is None else writer.native_opaque)
        return self.found.put_back(request, upstream_digest(upstream, dialect.name), opaque)

    def recorders(
        self, upstream: str, dialect: Dialect, client_id: Callable[[str], str]
    ) -> Callable[[], TurnRecorder] | None:
        """Return the function that makes the recorder of an answer; None if turns are not stored.

        Args:
            upstream: the name or URL of the upstream that is asked.
            dialect: the dialect that the upstream speaks.
            client_id: returns the client's id of a call, given the upstream's id.
        """
        turns, collector = self.turns, dialect.turn_collector
        if turns is None or collector is None:
            return None
        text, name = text_of_last_question(self.messages), upstream_digest(upstream, dialect.name)
        asked = TurnAsked(self.owner, name, text, client_id, self.found.texts)
        return lambda: TurnRecorder(turns, asked, collector(turns.max_bytes))
