"""The runs of responses at an endpoint with `resume`.

The id of a response and the handle of its run have the same digits.

Source: the conversation contract, section 5 (`background`); the contract of resumable streams, sections 3, 5.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import Any, Final

from streamweir.http.headers import replaced
from streamweir.http.refusals import Refusal
from streamweir.http.run_refusals import run_refusals
from streamweir.http.runs_app import RunsCall
from streamweir.runs.found_run import FoundRun
from streamweir.runs.handles import is_handle, short_handle
from streamweir.runs.service import RunGone, RunNotFound
from streamweir.runs.store import StoreUnavailable
from streamweir_gateway.connection.client_connection import CONNECTION_EXTENSION
from streamweir_gateway.responses.failed_response import failed_response
from streamweir_gateway.responses.kept_response import PREFIX, KeptResponse
from streamweir_gateway.responses.kept_responses import KeptResponses
from streamweir_gateway.responses.response_call import ResponseCall
from streamweir_gateway.resumption.resumption import Resumption, note_folded

__all__ = ["RunsOfResponses", "handle_of", "response_id_of"]

_HANDLE_PREFIX: Final = "run_"
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,17}")
_SEIZE_SECONDS: Final = 3.0
"""The longest time, in seconds, in which a reader ends a run without owner and with expired lease."""


def response_id_of(handle: str) -> str:
    """Return the id of the response that a run makes."""
    return PREFIX + handle.removeprefix(_HANDLE_PREFIX)


def handle_of(response_id: str) -> str | None:
    """Return the handle of the run that makes a response; None if the id has another form."""
    handle = _HANDLE_PREFIX + response_id.removeprefix(PREFIX)
    return handle if response_id.startswith(PREFIX) and is_handle(handle) else None


class RunsOfResponses:
    """The `BackgroundRuns` of an endpoint with `resume`.

    Args:
        resumption: the runs of all endpoints.
    """

    def __init__(self, resumption: Resumption) -> None:
        self._resumption: Final = resumption

    async def settled(self, kept: KeptResponses, key: str | None, response: KeptResponse) -> dict[str, Any]:
        """Return the response as it is now; see `BackgroundRuns`."""
        if not response.is_running:
            return response.response
        found = await self._find(key, response)
        is_running = found is not None and found.state.state == "running"
        if found is not None and is_running and (found.state.owned or not await self._is_lost(found)):
            return response.response
        latest = await kept.find(key, response.id)  # its end may have been stored meanwhile
        if latest is None or latest.response.is_running:
            return failed_response(response.response, "RUN_LOST")
        return latest.response.response

    async def stream(self, call: ResponseCall, response: KeptResponse) -> None:
        """Send the run of a response; see `BackgroundRuns`."""
        after = call.query.get("starting_after")
        if after is not None and _NUMBER.fullmatch(after) is None:
            raise Refusal(
                "BAD_REQUEST",
                "`starting_after` must be the number of an event.",
                error={"param": "starting_after", "code": None},
            )
        found = await self._find(call.key, response)
        if found is None:
            raise Refusal("RUN_GONE")
        scope = {**call.scope, "headers": replaced(call.scope["headers"], b"accept", "text/event-stream")}
        if after is not None:  # no byte of the body is written past the delivery
            extensions = call.scope.get("extensions", {})
            scope["extensions"] = {
                name: value for name, value in extensions.items() if name != CONNECTION_EXTENSION
            }
        with run_refusals():
            await self._resumption.deliver(
                RunsCall(scope, call.receive, call.send, is_private=True, note=call.record),
                found,
                after_frame=None if after is None else int(after),
            )

    async def note_end(self, call: ResponseCall, response: KeptResponse) -> None:
        """Note the end of the run of a response; see `BackgroundRuns`."""
        record = call.record
        with suppress(RunGone, StoreUnavailable):
            found = await self._find(call.key, response)
            if found is not None and found.state.state != "running":
                record.resumes, record.run = found.about.request_id, short_handle(found.handle)
                note_folded(record, await self._resumption.service.fold(found))

    async def cancel(self, key: str | None, response: KeptResponse) -> None:
        """End the run of a response; see `BackgroundRuns`."""
        if (handle := handle_of(response.id)) is not None:
            with suppress(RunNotFound, RunGone):
                await self._resumption.service.cancel(key, handle)

    async def remove(self, key: str | None, response: KeptResponse) -> None:
        """End and delete the run of a response; see `BackgroundRuns`."""
        if (handle := handle_of(response.id)) is not None:
            with suppress(RunNotFound, RunGone):
                await self._resumption.service.remove(key, handle)

    async def _find(self, key: str | None, response: KeptResponse) -> FoundRun | None:
        handle = handle_of(response.id)
        if handle is None:
            return None
        try:
            return await self._resumption.service.look_up(key, handle)
        except (RunNotFound, RunGone):
            return None

    async def _is_lost(self, found: FoundRun) -> bool:
        """Return whether a run with an expired lease is over. If its owner is gone, a reader ends the run."""
        reader = self._resumption.service.read(found)
        if reader is None:
            return True
        reader.at = found.state.events
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SEIZE_SECONDS):
                    while await reader.next() is not None:
                        pass
        finally:
            reader.close()
        state = await self._resumption.service.store.look(found.name)
        return state is None or state.state != "running"
