"""A run that is kept: it goes on by itself, whoever reads it, until it ends, is stopped or is read by nobody.

Source: the contract of resumable streams, sections 1, 2 and 5.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final, Literal

from streamweir.errors import ErrorInfo, error_info
from streamweir.http.refusals import Refusal
from streamweir.options.durations import parse_duration
from streamweir.options.kept_runs import CONTINUE_FOR
from streamweir.runs.owned_run import OwnedRun
from streamweir.runs.run_index import RunIndex
from streamweir.runs.run_reader import is_unread
from streamweir.runs.store import StoreUnavailable
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.resumption.run_audience import RunAudience
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.open_streams import OpenStreams
from streamweir_gateway.runs.prepared_request import PreparedRequest
from streamweir_gateway.runs.request_context import RequestContext
from streamweir_gateway.runs.run import Run
from streamweir_gateway.runs.run_supervisor import RunSupervisor

__all__ = ["KeptRun"]

logger = logging.getLogger("streamweir.gateway")

_ALONE_SECONDS: Final = parse_duration(CONTINUE_FOR)
_RENEW_SECONDS: Final = 1.0
"""At most: a cancel from another replica is noticed then."""


class KeptRun:
    """One of them.

    Attributes:
        owned: the run in the store.
        audience: what it writes to.
        failure: why it ended, as it was classified; None if it did not fail, or by an event of the upstream.
        refusal: why it was not begun at all.

    Args:
        owned: the run in the store.
        endpoint: what was called.
        prepared: the first client's request.
        record: of the first client's request, and of the run.
        observer: is told of attempts.
        streams: those of the process.
        index: lets the run be found; None where runs are not.
    """

    def __init__(
        self,
        owned: OwnedRun,
        endpoint: Endpoint,
        prepared: PreparedRequest,
        *,
        record: RequestRecord,
        observer: Observer,
        streams: OpenStreams,
        index: RunIndex | None = None,
    ) -> None:
        self.owned: Final = owned
        self._index: Final = index
        self.audience: Final = RunAudience(owned, index, names=prepared.incoming.names)
        self.failure: ErrorInfo | None = None
        self.refusal: Refusal | None = None
        self._endpoint: Final = endpoint
        self._prepared: Final = prepared
        self._record: Final = record
        self._observer: Final = observer
        self._streams: Final = streams
        self._run: Run | None = None
        self._supervisor: RunSupervisor | None = None
        self._stop: Literal["cancelled", "client_gone"] | None = None
        self._read_at = time.monotonic()
        config = endpoint.config
        is_given = "on_disconnect" in config.model_fields_set
        self._alone_seconds: Final = config.on_disconnect if is_given else _ALONE_SECONDS
        self._alone_when_detached: Final = config.on_disconnect

    def stop(self, reason: Literal["cancelled", "client_gone"]) -> None:
        """End the run, which is no failure; the first reason stays."""
        self._stop = self._stop or reason
        if self._supervisor is not None:
            self._supervisor.leave_upstream(self._stop)

    async def pump(self) -> None:
        """Run to the end, all of which is stored then."""
        self._supervisor = supervisor = RunSupervisor(None)
        renewing = asyncio.create_task(self._look_after())
        self._streams.add(supervisor)
        try:
            await self._pump(supervisor)
        except Refusal as refusal:
            self.refusal = refusal
            await self.owned.forget()
        except ClientGone:
            await self._end("client_gone")
        except BaseException:
            self._note_failure(error_info("INTERNAL"))
            await asyncio.shield(self._end(None))
            raise
        finally:
            self.owned.finish()
            self._streams.discard(supervisor)
            supervisor.close()
            renewing.cancel()
            self._complete_record()

    async def _pump(self, supervisor: RunSupervisor) -> None:
        context = RequestContext(
            self._endpoint,
            self._prepared,
            audience=self.audience,
            supervisor=supervisor,
            record=self._record,
            observer=self._observer,
        )
        self._run = Run(context, self._prepared.request)
        if self._stop is not None:
            supervisor.leave_upstream(self._stop)
        await self._run.run()
        attempt = self._run.attempt
        self.failure = attempt.reported
        self.audience.settle(attempt.sink)
        await self.audience.finish()

    async def _end(self, reason: Literal["client_gone"] | None) -> None:
        """End a run that did not come to its end."""
        if self._run is None or self.owned.ended:
            return
        attempt = self._run.attempt
        if reason is None:
            attempt.stream.fail(error_info("INTERNAL"))
        else:
            attempt.stream.cancel(self._stop or reason)
        self.audience.settle(attempt.sink)
        await self.audience.finish()

    def _note_failure(self, info: ErrorInfo) -> None:
        self.failure = self.failure or info

    # The lease, and who reads

    async def _look_after(self) -> None:
        """Keep the lease; end the run that somebody cancelled, took over, or that nobody reads."""
        seconds = min(_RENEW_SECONDS, self.owned.lease / 3)
        while not self.owned.ended:
            await asyncio.sleep(seconds)
            try:
                await self._look()
            except StoreUnavailable:
                continue
            except Exception:
                logger.exception("looking after a run failed")

    async def _look(self) -> None:
        now = time.monotonic()
        if self.owned.readers:
            self._read_at = now
        signals = await self.owned.renew()
        if self._index is not None and signals is not None:
            await self._index.renew()
        if self.owned.detached == "fenced":
            assert self._supervisor is not None
            self._supervisor.abandon()
            return
        if signals is None:
            alone, seconds = now - self._read_at, self._alone_when_detached
        elif signals.cancelled:
            self.stop("cancelled")
            return
        else:
            alone, seconds = min(now - self._read_at, signals.unread_for), self._alone_seconds
        if seconds is not None and not self.owned.readers and is_unread(alone, seconds):
            self.stop("client_gone")

    def _complete_record(self) -> None:
        record = self._record
        if self.owned.detached is not None:
            record.detached = self.owned.detached
            self._observer.metrics.run_detached(self.owned.detached)
        if self._run is None or self._run.attempt.refused:
            return
        self._run.note_in(record)
        if self.owned.detached == "fenced":
            record.reason = "lost"  # whatever came after that
        record.events = self._run.attempt.stream.pipeline.position.written
