"""The headers of a response by name. They are put in order once, because several parts look headers up.

Source: RFC 9110, section 5.3 (headers of one name); RFC 9112, section 6.1 (`Transfer-Encoding`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import inf
from typing import Final

__all__ = ["HeaderFields", "codings_of", "has_explicit_end", "header_fields"]

_CONTENT_TYPE: Final = b"content-type"
_KEEP_ALIVE_TIMEOUT: Final = re.compile(rb"(?:^|[,;\s])timeout\s*=\s*\"?([0-9]{1,9})", re.IGNORECASE)


class HeaderFields(dict[bytes, bytes]):
    """The values of headers by their names in lower case. It must not be changed.

    Responses with equal heads share one object, so that what follows from it is found once.
    """

    @cached_property
    def media_type(self) -> bytes:
        """The content type in lower case, without parameters; empty if there is none."""
        return self.get(_CONTENT_TYPE, b"").partition(b";")[0].strip().lower()

    @cached_property
    def codings(self) -> tuple[str, ...]:
        """The codings of the content and of its transfer, other than chunks, in the order of their use."""
        transfer = codings_of(self.get(b"transfer-encoding"))
        content = codings_of(self.get(b"content-encoding"))
        return (*content, *(coding for coding in transfer if coding != "chunked"))

    @cached_property
    def keep_alive(self) -> float:
        """The seconds in the Keep-Alive header; infinite if the header promises none."""
        value = self.get(b"keep-alive")
        match = None if value is None else _KEEP_ALIVE_TIMEOUT.search(value)
        return inf if match is None else float(match[1])


def header_fields(headers: Sequence[tuple[bytes, bytes]]) -> HeaderFields:
    """Return the values of headers by their names in lower case.

    Several headers with one name are joined by commas. Of several content types, the first is returned.
    """
    fields = HeaderFields([(name.lower(), value) for name, value in headers])
    if len(fields) == len(headers):
        return fields
    values: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for name, value in headers:
        values[name.lower()].append(value)
    return HeaderFields(
        {name: found[0] if name == _CONTENT_TYPE else b",".join(found) for name, found in values.items()}
    )


def codings_of(value: bytes | None) -> list[str]:
    """Return the codings that a header lists, in the order in which they were applied; None lists none."""
    if not value:
        return []
    if value == b"chunked":  # most responses
        return ["chunked"]
    codings = (coding.strip().lower() for coding in value.decode("latin-1").split(","))
    return [coding for coding in codings if coding]


def has_explicit_end(fields: Mapping[bytes, bytes]) -> bool:
    """Return whether something else than the end of the connection marks the end of the body."""
    if codings := codings_of(fields.get(b"transfer-encoding")):
        return codings[-1] == "chunked"
    return b"content-length" in fields
