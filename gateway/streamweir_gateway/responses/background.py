"""The runs of responses, as the requests about responses see them.

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
    """The runs of one endpoint.

    Every method may raise `StoreUnavailable`.
    """

    async def settled(self, kept: KeptResponses, key: str | None, response: KeptResponse) -> dict[str, Any]:
        """Return the object of a response as it is now: while it runs, and if its run was lost."""

    async def stream(self, call: ResponseCall, response: KeptResponse) -> None:
        """Send the run of a response as a stream.

        Raises:
            Refusal: there is no such run.
        """

    async def cancel(self, key: str | None, response: KeptResponse) -> None:
        """End the run of a response, and wait a moment for its end."""

    async def remove(self, key: str | None, response: KeptResponse) -> None:
        """End the run of a response, and forget its events."""


class _NoRuns:
    """The runs of an endpoint without `resume`: there are none."""

    async def settled(self, kept: KeptResponses, key: str | None, response: KeptResponse) -> dict[str, Any]:
        """See `BackgroundRuns`; a response that ran belongs to an earlier configuration."""
        del kept, key
        return failed_response(response.response, "RUN_LOST") if response.is_running else response.response

    async def stream(self, call: ResponseCall, response: KeptResponse) -> None:
        """See `BackgroundRuns`."""
        del call, response
        raise Refusal(
            "BAD_REQUEST",
            "`stream` needs an endpoint with `resume`.",
            error={"param": "stream", "code": "unsupported_parameter"},
        )

    async def cancel(self, key: str | None, response: KeptResponse) -> None:
        """See `BackgroundRuns`."""

    async def remove(self, key: str | None, response: KeptResponse) -> None:
        """See `BackgroundRuns`."""


NO_RUNS: BackgroundRuns = _NoRuns()
