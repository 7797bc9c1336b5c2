"""The two sides of a dialect's requests: a reader for bodies of clients, a writer for those of its upstreams.

Source: the request contract, sections 3 to 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from streamweir.requests.canonical import LOSSES, Request
from streamweir.requests.fields import Fields
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.written import Written

__all__ = ["History", "Mend", "ReadRequest", "RequestReader", "RequestWriter", "Threads", "WriteRequest"]

ReadRequest = Callable[[Fields], Request]
"""Makes the canonical request from a body; the caller adds `extra` and checks the result as a whole."""

WriteRequest = Callable[[Outgoing], Iterable[Written] | Written]
"""Makes the requests of one attempt; a single request need not be in a list."""

Mend = Callable[[Mapping[str, Any], str], Mapping[str, Any] | None]
"""Returns a changed body for a refused request, given the text of the refusal."""

Threads = Literal["none", "client", "uuid", "server"]
"""The conversation ids that an upstream takes: no ids (`none`), any id of the client (`client`), UUIDs
(`uuid`; other ids are converted), or only ids that it made itself (`server`).
"""

History = Literal["all", "new", "last"]
"""The messages that are sent: all (`all`); those after the assistant's last message, if the upstream knows
the conversation (`new`); the user's last message, with the others as text in it (`last`).
"""

ALL_LOSSES: Final = frozenset(LOSSES)


@dataclass(frozen=True)
class RequestReader:
    """Reads the bodies that a protocol's clients send.

    Args:
        read: returns the canonical request of a body.
        has_own_threads: the clients make ids of conversations themselves and never learn the upstream's ids.
        has_resume: the clients can send back the `resume` of an interaction.
        answers_by_message: the clients cannot send answers to interactions: their next message, or the result
            of a tool, counts as the answer.
        asks_by_inputs: the names of inputs that count as a question if there is no message.
        sends_new_turns: the clients may name a conversation and send only its new turns.
        keeps_extra: fields that no rule reads are kept, for the writer of the same dialect.
        field_names: the protocol's name of a canonical field, for errors that name the field.
    """

    read: ReadRequest
    has_own_threads: bool = False
    has_resume: bool = False
    answers_by_message: bool = False
    asks_by_inputs: frozenset[str] = frozenset()
    sends_new_turns: bool = False
    keeps_extra: bool = True
    field_names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RequestWriter:
    """Writes requests to upstreams that speak a dialect.

    Args:
        write: returns the upstream's requests for a canonical request.
        history: which messages are sent, usually. If that depends on the path or on options, `write` reads
            the property of `Outgoing` that it needs.
        threads: the ids of conversations that the upstream takes.
        takes: the parts that it can take, out of `system, history, files, tools, inputs, state, context,
            response_format`; other parts are reported as lost. A writer that reads `Outgoing.text` sends
            `system` and `history` with it. Where it depends on the path or on options, the writer calls
            `Outgoing.lose`.
        answers: the writer can write the answer to an interaction.
        option_values: the options that only concern requests, with their values; the first is the default.
        mend: changes the body of a request that the upstream refused because of reasoning or signatures,
            given the words of the refusal; it returns None if nothing changes.
        is_lasting: returns whether such a refusal, given its words, is about a field that the upstream does
            not take at all, so that it would refuse later requests too; None: never.
        native_opaque: the dialect whose opaque values it writes, in the parts and calls that they belong to.
            If empty, the writer gets messages without reasoning, opaque values and places of calls.
        continues: a question of kind `continue` is answered by sending the assistant's last message back.
        needs: fields of the body that only the configuration's tree can provide; an endpoint without them is
            refused when the configuration is loaded.
    """

    write: WriteRequest
    history: History = "last"
    threads: Threads = "none"
    takes: frozenset[str] = frozenset()
    answers: bool = True
    option_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    native_opaque: str = ""
    mend: Mend | None = None
    is_lasting: Callable[[str], bool] | None = None
    continues: bool = False
    needs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse names that are not in the contract, because they could not be shown to clients."""
        if unknown := self.takes - ALL_LOSSES:
            raise ValueError(f"unknown names in takes: {', '.join(sorted(unknown))}")
