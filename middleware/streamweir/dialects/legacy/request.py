"""Reads and writes requests of old services: one message, and additional fields.

Source: the request contract, sections 3 and 4.
"""

from __future__ import annotations

from typing import Final

from streamweir.requests.canonical import Request
from streamweir.requests.canonical_reader import read_fields
from streamweir.requests.fields import Fields
from streamweir.requests.media import described_file
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestReader, RequestWriter
from streamweir.requests.written import Written, without_absent

__all__ = ["READER", "WRITER"]


def _read(fields: Fields) -> Request:
    return read_fields(fields, takes_old_names=True)


def _write(outgoing: Outgoing) -> Written:
    body = without_absent(
        message=outgoing.text,
        thread_id=outgoing.thread_id,
        inputs=outgoing.request.get("inputs"),
        files=[*map(described_file, outgoing.files())],
        user=outgoing.request.get("user"),
        stream=True,
    )
    return Written({**outgoing.extra, **body})


READER: Final = RequestReader(_read, has_resume=True, sends_new_turns=True)
WRITER: Final = RequestWriter(_write, threads="client", takes=frozenset({"files", "inputs"}), answers=False)
