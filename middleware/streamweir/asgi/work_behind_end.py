"""Lets an application work on after the end of its stream: saving the answer, `finally`, background tasks.

    the stream was ended by    the application
    ────────────────────────   ──────────────────────────────────────────────────────────────────────────────
    the application            runs on, its `receive` waits. It is told that the client has left if it still
                               sends after 5 s, or has not returned after 5 minutes. If it has ended its body
                               itself, it is told after a second: some frameworks return only then
    a clock or a limit         is told once the end of the body has been sent, or half a second later

Source: the library contract, section 1 (what the client gets).
"""

from __future__ import annotations

import time
from typing import Final

import anyio.lowlevel

from streamweir.asgi.receive_proxy import ReceiveProxy
from streamweir.delivery.scheduler import GroupScheduler
from streamweir.errors import Reason

__all__ = ["WorkBehindEnd"]

_LATE_MESSAGE_SECONDS: Final = 5.0
_RUN_ON_SECONDS: Final = 300.0
_UNSENT_END_SECONDS: Final = 0.5
_ENDED_BODY_SECONDS: Final = 1.0
_OWN_STEP_SECONDS: Final = 1.0

_CUT_OFF: Final = frozenset({"limit", "malformed", "first_event_timeout", "idle_timeout", "total_timeout"})
"""Reasons of an end that the application did not cause."""


class WorkBehindEnd:
    """Decides when the application's `receive` returns `http.disconnect` after the end of its stream.

    Args:
        listening: the application's `receive`.
        scheduler: its timer is free once the stream has ended.
    """

    def __init__(self, listening: ReceiveProxy, scheduler: GroupScheduler) -> None:
        self._listening = listening
        self._scheduler = scheduler
        self._began: float | None = None
        """The time at which the application ended its stream; None before, and after an end by `_CUT_OFF`."""
        self._has_ended_body = False

    def begin(self, reason: Reason | None, *, body_ended: bool = False) -> None:
        """Note that the stream has ended and that its end has not been sent yet.

        Args:
            reason: the reason of the end.
            body_ended: the application has ended its body.
        """
        if reason in _CUT_OFF:
            self._scheduler.set_timer(_UNSENT_END_SECONDS, self._listening.release)
            return
        self._began = time.monotonic()
        self._listening.end()
        self._has_ended_body = body_ended
        self._scheduler.set_timer(_ENDED_BODY_SECONDS, self._look)

    def note_body_ended(self) -> None:
        """Note that the application has ended its body, after the end of its stream."""
        self._has_ended_body = True
        if self._began is not None and time.monotonic() - self._began > _ENDED_BODY_SECONDS / 2:
            self._scheduler.set_timer(_ENDED_BODY_SECONDS, self._listening.release)

    def _look(self) -> None:
        """Disconnect the application if it has ended its body; otherwise give it more time.

        One timer for both cases is cheaper than setting it again when the body ends, as most bodies do.
        """
        if self._has_ended_body:
            self._listening.release()
        else:
            self._scheduler.set_timer(_RUN_ON_SECONDS - _ENDED_BODY_SECONDS, self._listening.release)

    def note_end_sent(self) -> None:
        """Note that the end of the body has been sent."""
        if self._began is None:
            self._listening.release()

    def allows_message(self) -> bool:
        """Return whether the application may still send messages; if not, release its `receive`."""
        if self._began is not None and time.monotonic() - self._began < _LATE_MESSAGE_SECONDS:
            return True
        self._listening.release()  # the application does not stop by itself
        return False

    async def yield_to_others(self) -> None:
        """Let other tasks run, because an application that never waits would keep them from running.

        For a second after the disconnect the framework cannot cancel the application here, but only where the
        application itself waits. A generator that is cancelled where it waits runs its `finally` at once; a
        generator that is suspended at its `yield` runs it only when it is collected as garbage.
        """
        if self._listening.released_for > _OWN_STEP_SECONDS:
            await anyio.lowlevel.checkpoint()
        else:
            await anyio.lowlevel.cancel_shielded_checkpoint()
