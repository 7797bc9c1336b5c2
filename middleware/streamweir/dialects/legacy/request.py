"""Reads and writes requests of old services: one message, and additional fields.

Source: the request contract, sections 3 and 4.
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.requests.canonical import Request
from streamweir.requests.canonical_reader import read_fields
from streamweir.requests.fields import Fields
from streamweir.requests.media import described_file
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestReader, RequestWriter
from streamweir.requests.written import Written

__all__ = ["READER", "WRITER"]


def _read(fields: Fields) -> Request:
    return read_fields(fields, takes_old_names=True)


def _write(outgoing: Outgoing) -> Written:
    request = outgoing.request
    body: dict[str, Any] = {"message": outgoing.text}
    if outgoing.thread_id is not None:
        body["thread_id"] = outgoing.thread_id
    if inputs := request.get("inputs"):
        body["inputs"] = inputs
    if files := outgoing.files():
        body["files"] = [*map(described_file, files)]
    if (user := request.get("user")) is not None:
        body["user"] = user
    body["stream"] = True
    return Written({**outgoing.extra, **body} if outgoing.extra else body)


READER: Final = RequestReader(_read, has_resume=True, sends_new_turns=True)
WRITER: Final = RequestWriter(_write, threads="client", takes=frozenset({"files", "inputs"}), answers=False)
