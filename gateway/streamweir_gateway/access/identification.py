"""Who sends a request, where keys are asked for; whoever tries wrong ones has to wait.

Source: the configuration contract (`auth`).
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final

from streamweir.http.headers import HeaderList
from streamweir.http.refusals import Refusal
from streamweir_gateway.access.keys import Credential, Keys, WrongKey, without_headers
from streamweir_gateway.access.rate_limit import RateLimiter, rate_limited
from streamweir_gateway.config import Caller, RateLimit

__all__ = ["Identification"]

WRONG_KEYS: Final = RateLimit(requests=20, seconds=60.0)
"""Of one client address. Beyond it a wrong key gets another refusal; a good one never does."""


class Identification:
    """Finds out who calls.

    Args:
        callers: by name.
    """

    def __init__(self, callers: Mapping[str, Caller]) -> None:
        self._keys = Keys(callers)
        self._wrong_keys = RateLimiter(WRONG_KEYS)

    def without_keys(self, headers: HeaderList) -> list[tuple[bytes, bytes]]:
        """Return `headers` without those that hold a key of the gateway; nothing is judged or counted."""
        return without_headers(headers, self._keys.headers_with_keys(headers))

    def known(self, headers: HeaderList) -> Credential | None:
        """Return who sends a request; None without a good key. A wrong one is not counted."""
        try:
            return self._keys.credential(headers)
        except Refusal:
            return None

    def credential(self, headers: HeaderList, *, address: str, foreign: Set[bytes]) -> Credential:
        """Return who sends a request.

        Args:
            headers: of the request.
            address: that its client counts under.
            foreign: headers that may hold a key for the upstream instead.

        Raises:
            Refusal: no key, a wrong one, or one of too many wrong ones.
        """
        try:
            return self._keys.credential(headers, foreign=foreign)
        except WrongKey:
            seconds = self._wrong_keys.wait(address)
            if seconds > 0:
                raise rate_limited(seconds) from None
            raise
