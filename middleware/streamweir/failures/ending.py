"""Decides how a failure reaches one client, for every shell and every kind of failure.

    event                                          `sent`      a client that gets       any other client, or
                                                               copied frames            `failures: told`
    ────────────────────────────────────────────   ─────────   ──────────────────────   ────────────────────
    no failure                                     any         end                      end
    the upstream answered with an error status     nothing     refusal                  end
    no answer, HTML, an empty body, a redirect,    nothing     envelope                 end
    a timeout or the drain before the first byte
    the upstream's own error event, body ended     any         end                      end
    the upstream's own error event, body broke     any         break                    end
    the body ended properly without the dialect's  frames      end                      end
    own end
    the body ended properly without the dialect's  heartbeats  break                    end
    own end
    the connection broke; a timeout, a limit,      frames or   break                    end
    the drain, a fault of ours                     heartbeats

`end` writes the sink's bytes and ends the body properly. For a protocol that reports failures by status, and
for a folded answer, the delivery still chooses the status.

Source: the standard protocol 1.1, section 8 (the table of failures).
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

from streamweir.errors import ErrorInfo

__all__ = ["Ending", "FailureFacts", "FailureMode", "Sent", "ending_of"]

FailureMode: TypeAlias = Literal["as_they_came", "told"]
"""The option `failures`."""

Sent: TypeAlias = Literal["nothing", "heartbeats", "frames"]
"""The bytes of the body that a client has, or will have: only heartbeats, or frames too."""

_OF_THE_BODY: Final = frozenset({"UPSTREAM_TRUNCATED", "UPSTREAM_INVALID_RESPONSE"})
"""The codes for a body that ended properly and is not a whole stream of its dialect."""


Ending: TypeAlias = Literal["end", "refusal", "envelope", "break"]
"""The ways in which a response can end.

    end        the body ends properly after the sink's bytes
    refusal    the upstream's status is sent with a safe form of its body, in place of a stream
    envelope   the status of the error's code is sent with an envelope, in place of a stream
    break      the connection is closed within the body, after the sink's bytes
"""


class FailureFacts(NamedTuple):
    """The facts that decide how a response ends."""

    error: ErrorInfo | None
    """The error of the stream; None: the stream ended properly, or was cancelled."""
    sent: Sent
    copies: bool
    """The client gets the frames of the upstream, or would get them if any came."""
    is_clean: bool
    """The body of the upstream ended properly."""
    is_upstreams: bool = False
    """The error is an event of the upstream."""
    is_refused: bool = False
    """The upstream answered with an error status."""
    is_resumable: bool = False
    """The client may come back for the rest of the stream."""


def ending_of(facts: FailureFacts, failures: FailureMode) -> Ending:
    """Return how the response ends; see the table of this module."""
    if facts.error is None or not facts.copies or failures == "told":
        return "end"
    if facts.sent == "nothing" and not facts.is_upstreams:
        return "refusal" if facts.is_refused else "envelope"
    if facts.is_resumable:
        return "end"
    if facts.is_upstreams:
        return "end" if facts.is_clean else "break"
    is_end_missing = facts.is_clean and facts.error.code in _OF_THE_BODY
    return "end" if is_end_missing and facts.sent == "frames" else "break"
