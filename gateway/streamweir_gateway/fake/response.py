"""Makes the steps of the whole response to one request."""

from __future__ import annotations

from streamweir.framing import MEDIA_TYPES
from streamweir_gateway.fake.answers import answer_steps, connection_steps, head_steps
from streamweir_gateway.fake.body import body_steps
from streamweir_gateway.fake.coding import coded, content_encoding
from streamweir_gateway.fake.faults import Fault, Place
from streamweir_gateway.fake.run import Run
from streamweir_gateway.fake.segmentation import cut_into_writes
from streamweir_gateway.fake.settings import Settings
from streamweir_gateway.fake.steps import Send, Step, Steps
from streamweir_gateway.fake.transfer import chunked, ends_with_connection, framing_headers, has_length, plain

__all__ = ["fault_at", "response_steps"]


def response_steps(settings: Settings) -> Steps:
    """Yield the steps of the response to a request."""
    return cut_into_writes(_whole(settings), fault_at(settings.faults, "writes"), settings.seed)


def fault_at(faults: tuple[Fault, ...], place: Place) -> Fault | None:
    """Return the fault of one part of the response; None if that part has no fault."""
    return next((fault for fault in faults if fault.kind.place == place), None)


def _whole(settings: Settings) -> Steps:
    faults = settings.faults
    media_type = MEDIA_TYPES[settings.framing]
    if connection := fault_at(faults, "connection"):
        return connection_steps(connection)
    if answer := fault_at(faults, "answer"):
        return answer_steps(answer, faults, media_type)
    return _stream(settings, media_type)


def _stream(settings: Settings, media_type: str) -> Steps:
    faults = settings.faults
    coding, transfer = fault_at(faults, "coding"), fault_at(faults, "transfer")
    headers = [f"Content-Type: {media_type}", "Cache-Control: no-cache"]
    if encoding := content_encoding(coding):
        headers.append(f"Content-Encoding: {encoding}")
    size = sum(map(_size, _body(settings, coding))) if has_length(transfer) else 0
    yield from head_steps("200 OK", [*headers, *framing_headers(transfer, size)], faults)
    body = _body(settings, coding)
    yield from plain(body) if ends_with_connection(transfer) else chunked(body, has_last=transfer is None)


def _body(settings: Settings, coding: Fault | None) -> Steps:
    run = Run(
        settings.dialect,
        settings.framing,
        options=settings.options,
        events=settings.events,
        replay=settings.replay,
    )
    return coded(body_steps(run, settings.faults, pace=settings.pace, seed=settings.seed), coding)


def _size(step: Step) -> int:
    return len(step.data) if isinstance(step, Send) else 0
