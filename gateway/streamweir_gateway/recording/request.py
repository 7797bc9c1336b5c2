"""Sends one request to a backend, and records each read of the response."""

from __future__ import annotations

import asyncio
from typing import Final

from streamweir.classification import info_for_status
from streamweir.errors import ErrorInfo, error_info
from streamweir.options.limits import Limits
from streamweir.options.timeouts import Timeouts
from streamweir.translation.clock import SETTLE_SECONDS
from streamweir_gateway.recording.recorder import Recording
from streamweir_gateway.upstream.client import UpstreamClient
from streamweir_gateway.upstream.failures import UpstreamFailure
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["ask"]

_OK: Final = 200


async def ask(request: UpstreamRequest, recording: Recording, *, idle: float | None) -> bool:
    """Send `request`, record the response, and return whether the stream was complete.

    Args:
        request: the request to the upstream.
        recording: records the response.
        idle: the longest time in seconds without a byte; None: no limit.
    """
    client = UpstreamClient()
    timeouts = Timeouts()
    try:
        async with client.open(request, connect_timeout=timeouts.connect) as response:
            recording.note_response(response.status, response.headers)
            failure = await _read(response, recording, idle)
            if response.status != _OK:
                recording.end("refused", failure or info_for_status(response.status))
                return False
            recording.end("eof" if failure is None else "broken", failure)
            return failure is None
    except _Settled:
        recording.end("left")
        return True
    except UpstreamFailure as failed:
        recording.end("refused", failed.info)
        recording.note_cause(failed)
        return False
    except asyncio.CancelledError:
        recording.end("left")
        raise
    finally:
        await client.aclose()


class _Settled(Exception):
    """The stream has ended, but its body has not."""


async def _read(response: UpstreamResponse, recording: Recording, idle: float | None) -> ErrorInfo | None:
    """Note every read up to the end; return the failure that ended the body, None after a proper end."""
    left = Limits().stream_bytes
    while True:
        try:
            async with asyncio.timeout(SETTLE_SECONDS if recording.has_ended else idle):
                data = await response.read()
        except TimeoutError:
            if recording.has_ended:
                raise _Settled from None
            return error_info("UPSTREAM_TIMEOUT", reason="idle_timeout")
        except UpstreamFailure as failed:
            return failed.info
        if not data:
            return None
        left -= len(data)
        recording.note_read(data)
        if left < 0:
            return error_info("STREAM_LIMIT_EXCEEDED")
