"""The keys with which clients authenticate.

Source: the configuration contract (`auth`); RFC 9110, section 11 (schemes of Authorization); RFC 6750.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Set
from hashlib import blake2b, sha256
from typing import Final, NamedTuple

from streamweir.http.headers import HeaderList
from streamweir.http.refusals import Refusal
from streamweir_gateway.config import MIN_KEY_CHARACTERS, Caller, key_digest
from streamweir_gateway.remembered_headers import RememberedHeaders, memo_of

__all__ = ["KEY_HEADERS", "Credential", "Keys", "WrongKey", "has_key", "without_headers"]

KEY_HEADERS: Final = frozenset({b"authorization", b"x-api-key"})

_CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}
_BEARER: Final = re.compile(rb"bearer +(.+)", re.IGNORECASE | re.DOTALL)


class Credential(NamedTuple):
    """A client that has authenticated."""

    name: str
    """The name of the client's key in the configuration."""
    headers: frozenset[bytes]
    """The headers that contained the key, which are not forwarded."""


class WrongKey(Refusal):
    """The key of the request is not valid."""

    def __init__(self) -> None:
        super().__init__("UNAUTHENTICATED", headers=_CHALLENGE)


class Keys:
    """The keys of a gateway.

    Args:
        callers: the callers by name.
    """

    def __init__(self, callers: Mapping[str, Caller]) -> None:
        self._secret = secrets.token_bytes(32)
        self._names = {
            self._keyed(key_digest(key)): name for name, caller in callers.items() for key in caller.key
        }

    def credential(
        self, headers: HeaderList, *, foreign: Set[bytes] = frozenset(), offered: bytes | None = None
    ) -> Credential:
        """Return the caller of a request.

        Args:
            headers: the headers of the request, names in lower case.
            foreign: those of `KEY_HEADERS` that may be meant for the upstream.
            offered: the key among the subprotocols of a handshake. A key in a header takes precedence.

        Raises:
            WrongKey: the key is wrong, or there are two different keys.
            Refusal: the request has no key.
        """
        given = _given(headers)
        if not given and offered is None:
            raise Refusal("UNAUTHENTICATED", headers=_CHALLENGE)
        names = {header: self._name_of(key) for header, key in given.items()}
        known = {header: name for header, name in names.items() if name is not None}
        if not known and offered is not None and not (names.keys() - foreign):
            return self._offered(offered, headers)
        wrong = names.keys() - known.keys() - foreign
        if wrong or len(set(known.values())) != 1 or self._holds_key(headers, KEY_HEADERS - known.keys()):
            raise WrongKey
        return Credential(next(iter(known.values())), frozenset(known))

    def _offered(self, key: bytes, headers: HeaderList) -> Credential:
        name = self._name_of(key)
        if name is None or self._holds_key(headers, KEY_HEADERS):
            raise WrongKey
        return Credential(name, frozenset())

    def headers_with_keys(self, headers: HeaderList) -> frozenset[bytes]:
        """Return the names of the headers that contain a key of the gateway, in any form."""
        return frozenset(name for name in KEY_HEADERS if self._holds_key(headers, {name}))

    def _holds_key(self, headers: HeaderList, names: Set[bytes]) -> bool:
        """Return whether a header to forward contains a key of the gateway in a wrong form."""
        words = (value.split()[-1:] for header, value in headers if header in names)
        return any(self._name_of(word) is not None for last in words for word in last)

    def _name_of(self, given: bytes) -> str | None:
        """Return the name of a key; None if the key is unknown.

        The look-up uses a digest under a secret that no client knows. So its time reveals nothing about the
        keys, and does not grow with their number.
        """
        if len(given) < MIN_KEY_CHARACTERS:
            return None
        return self._names.get(self._keyed(sha256(given).digest()))

    def _keyed(self, digest: bytes) -> bytes:
        return blake2b(digest, key=self._secret, digest_size=32).digest()


def _given(headers: HeaderList) -> dict[bytes, bytes]:
    """Return the keys of a request by header. Authorization schemes other than Bearer contain no key.

    Raises:
        WrongKey: a header is repeated, and other software may read another of its values.
    """
    found: dict[bytes, bytes] = {}
    seen = set()
    for header, value in headers:
        if header in KEY_HEADERS:
            if header in seen:
                raise WrongKey
            seen.add(header)
            if header == b"x-api-key":
                found[header] = value.strip(b" \t")
            elif match := _BEARER.fullmatch(value.strip(b" \t")):
                found[header] = match[1]
    return found


def has_key(headers: HeaderList) -> bool:
    """Return whether a request has `X-Api-Key`, or `Authorization` of any scheme."""
    return any(name in KEY_HEADERS for name, _ in headers)


def without_headers(headers: HeaderList, names: Set[bytes]) -> list[tuple[bytes, bytes]]:
    """Return `headers` without those named in `names`; remembered headers keep their memo.

    Equal headers lose the same names at each request, so results for the rest are results for them too.
    """
    left, memo = [pair for pair in headers if pair[0] not in names], memo_of(headers)
    return left if memo is None else RememberedHeaders(left, memo)
