"""Stores the turns of threads as messages, for upstreams that do not keep threads.

Source: the conversation contract, section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streamweir.errors import MalformedEvent
from streamweir.jsontext import parse_json, write_json
from streamweir.requests.canonical import Message
from streamweir.requests.errors import RequestError
from streamweir.requests.fields import Fields
from streamweir.requests.messages import read_messages
from streamweir.runs.store import RunStore, StoreUnavailable
from streamweir_gateway.requests.sound_messages import sound_messages
from streamweir_gateway.requests.value_names import value_name

__all__ = ["KeptHistory"]

_KIND: Final = "history"
_FIELD: Final = "messages"
MAX_MESSAGES: Final = 1_000
MAX_BYTES: Final = 8 << 20


class KeptHistory:
    """The stored threads of one endpoint.

    Args:
        store: the store that keeps the threads.
        endpoint: the template of the path.
        keep: the seconds for which a thread is kept after its last use.
    """

    def __init__(self, store: RunStore, endpoint: str, keep: float) -> None:
        self._store: Final = store
        self._endpoint: Final = endpoint
        self._keep: Final = keep

    async def find(self, key: str | None, thread: str) -> list[Message] | None:
        """Return the messages of a thread, oldest first; None if the store does not answer."""
        try:
            value = await self._store.get(self._name(key, thread), ttl=self._keep)
        except StoreUnavailable:
            return None
        return [] if value is None else _read(value)

    async def put(self, key: str | None, thread: str, messages: Sequence[Message]) -> None:
        """Store the last messages of a thread, as many as may be kept."""
        kept = sound_messages(messages, most=MAX_MESSAGES, max_bytes=MAX_BYTES)
        try:
            await self._store.put(self._name(key, thread), write_json({_FIELD: kept}), ttl=self._keep)
        except StoreUnavailable:
            return

    def _name(self, key: str | None, thread: str) -> str:
        return value_name(_KIND, self._endpoint, key, thread)


def _read(value: bytes) -> list[Message]:
    """Return the messages in a value of the store; no messages if the value is invalid."""
    try:
        found = parse_json(value)[0]
        return read_messages(Fields(found)) if isinstance(found, dict) else []
    except (MalformedEvent, RequestError):
        return []
