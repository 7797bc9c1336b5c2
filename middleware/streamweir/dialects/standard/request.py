"""Requests of the standard protocol: the canonical fields, and the names of old clients for them.

Source: the request contract, sections 2 to 4.
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.requests.canonical import FIELDS, LOSSES, PARAMETERS, Request
from streamweir.requests.canonical_reader import read_fields
from streamweir.requests.fields import Fields
from streamweir.requests.old_names import INPUTS, MESSAGES, THREADS
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestReader, RequestWriter
from streamweir.requests.written import Written

__all__ = ["READER", "WRITER"]


def _read(fields: Fields) -> Request:
    return read_fields(fields, messages=MESSAGES, threads=THREADS, inputs=INPUTS)


def _write(outgoing: Outgoing) -> Written:
    """The canonical request itself."""
    request: dict[str, Any] = {**outgoing.request, "stream": True}
    outgoing.parameters(*PARAMETERS)
    extra = {name: value for name, value in outgoing.extra.items() if name not in FIELDS}
    body = {name: request[name] for name in FIELDS if name in request and name != "extra"}
    return Written({**body, **extra})


READER: Final = RequestReader(_read, has_resume=True)
WRITER: Final = RequestWriter(_write, history="all", threads="client", takes=frozenset(LOSSES))
