"""Identifies the caller by its key, and slows down clients that try wrong keys.

Source: the configuration contract (`auth`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streamweir.http.headers import HeaderList
from streamweir.http.refusals import Refusal
from streamweir_gateway.access.keys import Credential, Keys, WrongKey, without_headers
from streamweir_gateway.access.rate_limit import RateLimiter, rate_limited
from streamweir_gateway.config import Caller, RateLimit
from streamweir_gateway.remembered_headers import memo_of

__all__ = ["Identification"]

WRONG_KEYS: Final = RateLimit(requests=20, seconds=60.0)
"""The wrong keys allowed per client address. Further wrong keys get a 429; valid keys never do."""


class Identification:
    """Identifies callers.

    Args:
        callers: the callers by name.
    """

    def __init__(self, callers: Mapping[str, Caller]) -> None:
        self._keys = Keys(callers)
        self._wrong_keys = RateLimiter(WRONG_KEYS)

    def without_keys(self, headers: HeaderList) -> list[tuple[bytes, bytes]]:
        """Return `headers` without those that contain a key of the gateway. No key is checked or counted."""
        return without_headers(headers, self._keys.headers_with_keys(headers))

    def known(self, headers: HeaderList) -> Credential | None:
        """Return the caller of a request; None without a valid key. Wrong keys are not counted."""
        try:
            return self._keys.credential(headers)
        except Refusal:
            return None

    def credential(
        self, headers: HeaderList, *, address: str, foreign: frozenset[bytes], offered: bytes | None = None
    ) -> Credential:
        """Return the caller of a request. It is remembered for equal headers of one connection.

        Args:
            headers: the headers of the request.
            address: the address under which wrong keys are counted.
            foreign: the names of headers that may contain a key for the upstream instead.
            offered: the key among the subprotocols of a handshake.

        Raises:
            Refusal: the key is missing or wrong, or there were too many wrong keys.
        """
        memo = memo_of(headers)
        if memo is None or offered is not None:
            return self._found(headers, address, foreign, offered)
        known: Credential | None = memo.get((self, foreign))
        if known is None:
            known = self._found(headers, address, foreign, None)
            memo.put((self, foreign), known)
        return known

    def _found(
        self, headers: HeaderList, address: str, foreign: frozenset[bytes], offered: bytes | None
    ) -> Credential:
        try:
            return self._keys.credential(headers, foreign=foreign, offered=offered)
        except WrongKey:
            seconds = self._wrong_keys.wait(address)
            if seconds > 0:
                raise rate_limited(seconds) from None
            raise
