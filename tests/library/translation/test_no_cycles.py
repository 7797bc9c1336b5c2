"""A stream that is dropped is freed at once, without a garbage collection."""

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from streams import canonical_streams, recorded_streams
from streamweir import Translator
from streamweir.codec.registry import process_dialects
from streamweir.context import WarningCollector
from streamweir.emit.application_stream import ApplicationStream
from streamweir.testing import cuts

STREAMS = recorded_streams()


@pytest.fixture
def unreachable() -> Iterator[Callable[[Callable[[], object]], list[Any]]]:
    """Return the objects that a function leaves in reference cycles."""

    def left_by(function: Callable[[], object]) -> list[Any]:
        function()  # what is loaded or cached at the first time is no stream's
        gc.collect()
        function()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            gc.collect()
            return [type(found).__name__ for found in gc.garbage]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()

    gc.disable()
    yield left_by
    gc.enable()


def streamed(body: bytes, **options: Any) -> None:
    translator = Translator(**options)
    for piece in cuts(body, seed=len(body)):
        translator.feed(piece)
    translator.close()


@pytest.mark.parametrize("speaks", [*process_dialects().readable, "auto"])
def test_reader_that_is_dropped_leaves_no_cycle(speaks: str, unreachable: Any) -> None:
    def all_recorded() -> None:
        for stream in STREAMS:
            if stream.dialect == speaks or (speaks == "auto" and stream.path.stem.endswith("s")):
                for framing in ("sse", "json"):
                    streamed(stream.body, speaks=speaks, framing=framing)

    assert unreachable(all_recorded) == []


@pytest.mark.parametrize("answers", process_dialects().writable)
def test_writer_that_is_dropped_leaves_no_cycle(answers: str, unreachable: Any) -> None:
    def all_canonical() -> None:
        for body in canonical_streams().values():
            streamed(body, speaks="standard", answers=answers)

    assert unreachable(all_canonical) == []


OPTIONS: list[dict[str, Any]] = [
    {"protocol_options": {"ragflow": {"form": form, "answer": "cumulative"}}, "answers": "ragflow"}
    for form in ("agent", "chat", "openai")
]


@pytest.mark.parametrize("options", [{"raw": True, "debug": True}, *OPTIONS])
def test_stream_with_options_leaves_no_cycle(options: dict[str, Any], unreachable: Any) -> None:
    body = b'data: {"type":"token","content":"a"}\n\ndata: {"type":"error","message":"no"}\n\n'
    assert unreachable(lambda: streamed(body, speaks="legacy", **options)) == []


@pytest.mark.parametrize(
    "ending",
    [
        lambda translator: translator.close(),
        lambda translator: translator.fail("UPSTREAM_TIMEOUT"),
        lambda translator: translator.fail(ValueError("x")),
        lambda translator: translator.cancel(),
        lambda stream: stream.translator.warn("and dropped without an end"),
    ],
)
def test_stream_with_any_end_leaves_no_cycle(
    ending: Callable[[ApplicationStream], object], unreachable: Any
) -> None:
    def stream() -> None:
        collector = WarningCollector("req_1")
        translator = ApplicationStream(speaks="legacy", collector=collector)
        translator.feed(b'data: {"type":"token","content":"a"}\n\ndata: {\n\ndata: 1')
        ending(translator)

    assert unreachable(stream) == []
