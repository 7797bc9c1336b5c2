"""The interface to runs of responses, for the requests about responses.

Source: the conversation contract, section 5 (`background`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from streamweir.http.refusals import Refusal
from streamweir_gateway.responses.failed_response import failed_response
from streamweir_gateway.responses.kept_response import KeptResponse
from streamweir_gateway.responses.kept_responses import KeptResponses

if TYPE_CHECKING:
    from streamweir_gateway.responses.response_call import ResponseCall

__all__ = ["NO_RUNS", "BackgroundRuns"]


class BackgroundRuns(Protocol):
    """The runs of one endpoint. Every method may raise `StoreUnavailable`."""

    async def settled(self, kept: KeptResponses, key: str | None, response: KeptResponse) -> dict[str, Any]:
        """Return the object of a response as it is now: still running, or failed if its run was lost."""

    async def stream(self, call: ResponseCall, response: KeptResponse) -> None:
        """Send the run of a response as a stream.

        Raises:
            Refusal: the response has no run.
        """

    async def note_end(self, call: ResponseCall, response: KeptResponse) -> None:
        """Note the end of the run of a response that has answered a request; do nothing if it is not kept.

        It never raises `StoreUnavailable`.
        """

    async def cancel(self, key: str | None, response: KeptResponse) -> None:
        """End the run of a response, and wait for its end for a moment."""

    async def remove(self, key: str | None, response: KeptResponse) -> None:
        """End the run of a response, and delete its events."""


class _NoRuns:
    """The `BackgroundRuns` of an endpoint without `resume`, which has no runs."""

    async def settled(self, kept: KeptResponses, key: str | None, response: KeptResponse) -> dict[str, Any]:
        """Return the response as it is now. If it was running, it belongs to an earlier configuration."""
        del kept, key
        return failed_response(response.response, "RUN_LOST") if response.is_running else response.response

    async def stream(self, call: ResponseCall, response: KeptResponse) -> None:
        """Refuse: there is no run; see `BackgroundRuns`."""
        del call, response
        raise Refusal(
            "BAD_REQUEST",
            "`stream` needs an endpoint with `resume`.",
            error={"param": "stream", "code": "unsupported_parameter"},
        )

    async def note_end(self, call: ResponseCall, response: KeptResponse) -> None:
        """Do nothing: there is no run; see `BackgroundRuns`."""

    async def cancel(self, key: str | None, response: KeptResponse) -> None:
        """Do nothing: there is no run; see `BackgroundRuns`."""

    async def remove(self, key: str | None, response: KeptResponse) -> None:
        """Do nothing: there is no run; see `BackgroundRuns`."""


NO_RUNS: BackgroundRuns = _NoRuns()
