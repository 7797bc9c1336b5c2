"""The opening of an answer, held back while another attempt may follow: all bytes up to the first output.

    state      entered by                                 next state
    ────────   ────────────────────────────────────────   ──────────────────────────────────────────────────
    reading    construction                               decided, ended
    decided    an output, the end of the body, or more    taken, dropped
               than one event may have
    ended      a failure, a clock or another stop         taken, dropped
    taken      no other attempt follows: `take`           —
    dropped    another attempt follows: `avoidable`       —

The bytes are decoded twice: here, by a reader whose events go nowhere, and by the stream of the attempt once
it is certain that the client gets it. So an attempt that is given up is seen neither by the client nor by a
tap, a log or a stored run, and a held opening takes only the memory of its bytes.

Source: the configuration contract (the commit point).
"""

from __future__ import annotations

import asyncio
import time

import msgspec

from streamweir.errors import ErrorInfo
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.parts import ReadParts
from streamweir_gateway.runs.retry_plan import Failure, RetryPlan
from streamweir_gateway.runs.run_supervisor import RunSupervisor
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["HeldOpening"]


class HeldOpening:
    """The opening of one answer. The docstring of this file lists its states.

    Attributes:
        scout: decodes the opening; its events go nowhere.
        is_over: whether the body has ended properly.
        began: `time.monotonic()` of the first event; None before that event.

    Args:
        scout: kept as the attribute.
        plan: knows whether another attempt follows a failure.
        supervisor: the supervisor of the run.
    """

    __slots__ = ("_max_buffered", "_pieces", "_plan", "_size", "_supervisor", "began", "is_over", "scout")

    def __init__(self, scout: StreamNormalizer, plan: RetryPlan, supervisor: RunSupervisor) -> None:
        self.scout = scout
        self._plan = plan
        self._supervisor = supervisor
        self.is_over = False
        self.began: float | None = None
        self._max_buffered = scout.reader.limits.event_bytes
        self._pieces: list[bytes] = []
        self._size = 0

    async def read(self, response: UpstreamResponse) -> None:
        """Read `response` until the state is decided, or until the run is stopped.

        Raises:
            UpstreamFailure: the body broke off.
        """
        supervisor = self._supervisor
        clock = supervisor.clock
        clock.source = self.scout
        while not (self._is_decided or supervisor.is_stopping()):
            clock.last_read = time.monotonic()
            data = await response.read()
            clock.last_read = time.monotonic()
            self._pieces.append(data)
            self._size += len(data)
            await self._feed(data)
            if not data or response.is_over():
                self.is_over = True
                self.scout.close()

    def end(self, info: ErrorInfo | None) -> None:
        """Note that no more of the answer will be read.

        Args:
            info: the failure that ended the reading; None: no failure is known.
        """
        if info is None:
            self.scout.close()
        else:
            self.scout.fail(info)

    def take(self) -> bytes:
        """Return the bytes of the opening, and stop holding them."""
        held, self._pieces = b"".join(self._pieces), []
        return held

    def avoidable(self) -> Failure | None:
        """Return the failure and drop the bytes, if another attempt follows the failure; else return None."""
        failure = self._failure
        if failure is None or not (self._supervisor.can_retry and self._plan.can_follow(failure)):
            return None
        self._pieces = []
        return failure

    @property
    def _failure(self) -> Failure | None:
        """The failure before the first output; None if the opening has not failed."""
        found = self.scout.reader.first_output
        error = self.scout.pipeline.error
        if error is None:
            return None
        if found is None:
            return Failure(error)
        if found.status is None:
            return None
        if found.retry_after_ms is not None:
            error = msgspec.structs.replace(error, retry_after_ms=found.retry_after_ms)
        return Failure(error, status=found.status, is_in_band=True)

    @property
    def _is_decided(self) -> bool:
        if self.scout.reader.first_output is not None or self.scout.pipeline.ended:
            return True
        return self._size > self._max_buffered

    async def _feed(self, data: bytes) -> None:
        parts = ReadParts(data)
        is_done = parts.feed(self._take)
        while not is_done:
            await asyncio.sleep(0)
            is_done = parts.feed(self._take)

    def _take(self, data: bytes) -> None:
        self.scout.feed(data)
        if self.began is None and self.scout.started:
            self.began = time.monotonic()
