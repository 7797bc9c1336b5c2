"""Stores the response of an attempt that has ended, before the bytes of the stream's end are sent."""

from __future__ import annotations

from streamweir_gateway.responses.response_keeper import ResponseKeeper
from streamweir_gateway.runs.attempt import Attempt

__all__ = ["keep_response"]


async def keep_response(keeper: ResponseKeeper, attempt: Attempt) -> bool:
    """Store the response of `attempt`; return False if the client must not be told that it is stored."""
    return await keeper.keep(attempt.destination, attempt.stream.pipeline.error)
