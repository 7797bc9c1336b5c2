"""Stores the response to one request at its end, before the client learns of the end.

Source: the conversation contract, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from streamweir.errors import ErrorInfo
from streamweir.runs.store import StoreUnavailable
from streamweir_gateway.requests.asked_upstream import AskedUpstream
from streamweir_gateway.requests.conversation_tap import ConversationTap
from streamweir_gateway.responses.failed_response import failed_response
from streamweir_gateway.responses.kept_response import KeptResponse
from streamweir_gateway.responses.kept_responses import Continued, KeptResponses
from streamweir_gateway.responses.response_tap import ResponseTap

__all__ = ["ResponseKeeper"]

_KEPT_ENDS: Final = frozenset({"completed", "suspended"})


class ResponseKeeper:
    """Stores one response.

    Attributes:
        tap: follows the stream.
        is_background: whether the response is stored from its beginning on, even if it fails.

    Args:
        kept: the responses of the endpoint.
        key: the name of the client's key.
        tap: becomes the attribute.
        pending: the response object before the end, without output.
        items: the items of the request's own input.
        continued: the response that the request continues; None: no response.
        threads: for each upstream, the tap that knows its conversation; None: it has no conversations.
        is_whole: whether the client gets the response object and no stream.
        is_background: becomes the attribute.
    """

    def __init__(  # noqa: PLR0913 (all that is known of a response before its end)
        self,
        kept: KeptResponses,
        key: str | None,
        tap: ResponseTap,
        *,
        pending: Mapping[str, Any],
        items: Sequence[Any],
        continued: Continued | None,
        threads: Mapping[AskedUpstream, ConversationTap | None],
        is_whole: bool,
        is_background: bool,
    ) -> None:
        self.tap: Final = tap
        self.is_background: Final = is_background
        self._kept: Final = kept
        self._key: Final = key
        self._pending: Final = pending
        self._items: Final = [*items]
        self._continued: Final = continued
        self._threads: Final = threads
        self._is_whole: Final = is_whole

    @property
    def pending(self) -> Mapping[str, Any]:
        """The response object before the end, without output."""
        return self._pending

    async def begin(self) -> None:
        """Store a background response before its upstream is asked.

        Raises:
            StoreUnavailable: the response is not stored.
        """
        ancestors = await self._kept.ancestors_behind(self._continued)
        kept = KeptResponse(dict(self._pending), self._items, ancestors, is_running=True)
        await self._kept.put(self._key, kept)

    async def keep(self, upstream: AskedUpstream, error: ErrorInfo | None) -> bool:
        """Store the response that has ended.

        Args:
            upstream: the upstream that made the response.
            error: the error that ended the response; None if it succeeded.

        Returns:
            False if the client cannot refer to the response, as it is too large or the store did not take it.
        """
        if upstream not in self._threads:
            return True  # the response is kept by the upstream
        response = self._failed(error) if error is not None else self._ended()
        if response is None:
            return error is not None
        thread = self._thread(upstream)
        try:
            ancestors = await self._kept.ancestors_behind(self._continued)
            kept = KeptResponse(response, self._items, ancestors, upstream.identity, thread)
            await self._kept.put(self._key, kept)
        except StoreUnavailable:
            return False
        return True

    def _thread(self, upstream: AskedUpstream) -> str | None:
        """Return the upstream's name for the conversation; None if it keeps no conversations."""
        tap, writer = self._threads[upstream], upstream.dialect.request_writer
        return None if tap is None or writer is None or writer.threads == "none" else tap.thread

    def _ended(self) -> dict[str, Any] | None:
        """Return the object of a response without a failure; None if it is not to be stored."""
        end, response = self.tap.end, self.tap.response
        if end is None or response is None or "output" not in response:
            return None if not self.is_background else {**self._pending, "status": "incomplete"}
        if not self.tap.is_copied:
            response = self._as_begun(response)
        if end.status in _KEPT_ENDS:
            return response
        if not self.is_background:
            return None
        return {**response, "status": "cancelled", "completed_at": None, "incomplete_details": None}

    def _as_begun(self, response: dict[str, Any]) -> dict[str, Any]:
        """Return the response with the time of its beginning that the client was told."""
        if not self._is_whole:
            return {**response, "created_at": self.tap.began_at // 1000}
        return {**response, "created_at": self._pending["created_at"]} if self.is_background else response

    def _failed(self, error: ErrorInfo) -> dict[str, Any] | None:
        """Return the object of a failed background response; None for others, which are not stored."""
        if not self.is_background:
            return None
        return failed_response(self._pending, error.code, error.message)
