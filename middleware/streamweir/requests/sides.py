"""The two sides of a dialect's requests: a reader for clients' bodies, a writer for upstreams'.

Source: the request contract, sections 3 to 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from streamweir.requests.canonical import LOSSES, Request
from streamweir.requests.fields import Fields
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.written import Written

__all__ = ["History", "ReadRequest", "RequestReader", "RequestWriter", "Threads", "WriteRequest"]

ReadRequest = Callable[[Fields], Request]
"""Returns the canonical request for a body. The caller adds `extra` and checks the whole request."""

WriteRequest = Callable[[Outgoing], Iterable[Written] | Written]
"""Returns the requests of one attempt: one, or several in their order."""

Threads = Literal["none", "client", "uuid", "server"]
"""The ids of conversations that an upstream takes: `none`; any id of a `client`; a client's id that is a
`uuid` (another id is turned into one); only those of the `server` itself."""

History = Literal["all", "new", "last"]
"""The messages that are sent: `all`; with `new`, those behind the assistant's last one if the upstream knows
the conversation, else all; with `last`, the user's last one, whose text begins with the others."""

ALL_LOSSES: Final = frozenset(LOSSES)


@dataclass(frozen=True)
class RequestReader:
    """Reads the bodies of a protocol's clients.

    Args:
        read: returns the canonical request for a body.
        has_own_threads: clients make ids of conversations, and never learn the upstream's.
        has_resume: clients can send back the `resume` of an interaction.
        answers_by_message: the protocol has no answers to interactions. A client answers with its next
            message or the result of a tool.
        asks_by_inputs: names of inputs with which a request needs no message.
        keeps_extra: keep fields that are not read, for the writer of the same dialect.
        field_names: the protocol's names of fields in errors, by canonical name.
    """

    read: ReadRequest
    has_own_threads: bool = False
    has_resume: bool = False
    answers_by_message: bool = False
    asks_by_inputs: frozenset[str] = frozenset()
    keeps_extra: bool = True
    field_names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RequestWriter:
    """Writes requests to upstreams that speak a dialect.

    Args:
        write: returns the requests for an `Outgoing`.
        history: the messages that are usually sent. If this depends on the path or on options, `write` reads
            the messages that it needs.
        threads: the ids of conversations that the upstream takes.
        takes: the names among `LOSSES` that the upstream can take; others are reported as lost.
            `Outgoing.text` reports `system` and `history` by itself. A writer reports a loss that depends on
            the path or on options with `Outgoing.lose`.
        answers: the upstream can take answers to interactions.
        option_values: options that concern requests only, with their values, the default first.
        needs: fields of the body that only the configuration's tree can provide. An endpoint without them is
            refused when it is loaded.
    """

    write: WriteRequest
    history: History = "last"
    threads: Threads = "none"
    takes: frozenset[str] = frozenset()
    answers: bool = True
    option_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    needs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise if `takes` holds a name that is not among the losses."""
        if unknown := self.takes - ALL_LOSSES:
            raise ValueError(f"unknown names in takes: {', '.join(sorted(unknown))}")
