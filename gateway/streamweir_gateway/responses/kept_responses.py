"""Stores, finds, continues and drops the responses of one endpoint.

Source: the conversation contract, section 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from streamweir.jsontext import write_json
from streamweir.optional_json import json_or
from streamweir.runs.many_values import get_values
from streamweir.runs.store import RunStore
from streamweir_gateway.requests.value_names import value_name
from streamweir_gateway.responses.ancestors import NO_ANCESTORS, PAGE, Ancestors, Sized, listed, sized_names
from streamweir_gateway.responses.history import sound_history
from streamweir_gateway.responses.kept_response import KeptResponse

__all__ = ["Continued", "KeptResponses"]

_RESPONSE: Final = "response"
_PAGE: Final = "page of responses"
_MAX_ID: Final = 256
"""The most characters of an id that is looked up. Ids of upstreams may differ from the gateway's."""

MAX_ITEMS: Final = 5_000
"""The most items of earlier responses that precede the input of a request."""


class Continued(NamedTuple):
    """A response that a request continues.

    Attributes:
        response: the response that the request names.
        size: the bytes of its value in the store.
        key: the name of the client's key.
    """

    response: KeptResponse
    size: int
    key: str | None


class KeptResponses:
    """The responses of one endpoint. Every coroutine raises `StoreUnavailable` if the store does not answer.

    Args:
        store: stores the responses.
        endpoint: the template of the path.
        keep: the seconds for which a response is kept after its last use.
    """

    def __init__(self, store: RunStore, endpoint: str, keep: float) -> None:
        self._store: Final = store
        self._endpoint: Final = endpoint
        self._keep: Final = keep

    async def find(self, key: str | None, response_id: str) -> Continued | None:
        """Return a response; None if it is unknown, expired, deleted, unreadable or another key's."""
        if len(response_id) > _MAX_ID:
            return None
        value = await self._store.get(self._name(key, response_id), ttl=self._keep)
        found = KeptResponse.read(value, response_id)
        return None if found is None else Continued(found, len(value or b""), key)

    async def put(self, key: str | None, response: KeptResponse) -> None:
        """Store a response. It replaces a response with the same id."""
        await self._store.put(self._name(key, response.id), response.written(), ttl=self._keep)

    async def drop(self, key: str | None, response_id: str) -> None:
        """Forget a response; responses that continue it stay."""
        await self._store.drop(self._name(key, response_id))

    async def ancestors_behind(self, continued: Continued | None) -> Ancestors:
        """Return the ancestors of a response that continues another. If a page is full, store the page."""
        if continued is None:
            return NO_ANCESTORS
        response = continued.response
        found, page = response.ancestors.followed_by(response.id, continued.size)
        if page is not None:
            name = value_name(_PAGE, self._endpoint, continued.key, page.name)
            await self._store.put(name, write_json(listed(page.entries)), ttl=self._keep)
        return found

    async def history(self, continued: Continued, *, max_bytes: int) -> list[Any]:
        """Return the items that precede the new input: those of a response and of all its ancestors.

        The oldest items are left out beyond `max_bytes` and `MAX_ITEMS`; deleted and lost responses are
        skipped. Each call has its result, except for calls of the response itself.
        """
        response, key = continued.response, continued.key
        pages = _fitting(response.ancestors.pages, max_bytes)
        found = await self._values(_PAGE, key, [page.name for page in pages])
        entries = [entry for value in found for entry in sized_names(json_or(value or b""), PAGE)]
        entries = _fitting([*entries, *response.ancestors.recent], max_bytes - continued.size)
        names = [*dict.fromkeys(entry.name for entry in entries if entry.name != response.id)]
        values = await self._values(_RESPONSE, key, names)
        earlier = [
            kept
            for name, value in zip(names, values, strict=True)
            if (kept := KeptResponse.read(value, name, with_ancestors=False)) is not None
        ]
        return sound_history([kept.items for kept in [*earlier, response]], most=MAX_ITEMS)

    def _name(self, key: str | None, response_id: str) -> str:
        return value_name(_RESPONSE, self._endpoint, key, response_id)

    async def _values(self, kind: str, key: str | None, names: Iterable[str]) -> Sequence[bytes | None]:
        hashed = [value_name(kind, self._endpoint, key, name) for name in names]
        return await get_values(self._store, hashed, ttl=self._keep) if hashed else []


def _fitting(entries: Sequence[Sized], most: int) -> list[Sized]:
    """Return as many of the last entries as have at most `most` bytes together."""
    found: list[Sized] = []
    for entry in reversed(entries):
        most -= entry.size
        if most < 0:
            break
        found.append(entry)
    return found[::-1]
