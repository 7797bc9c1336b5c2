"""Taps of the middleware: they get the events, and the stream does not depend on them."""

import json
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from hosts import SSE, Call, body, sending, start
from patience import until
from streamweir import ConfigurationError, EventTap, parse_stream_line
from streamweir.asgi import EventStreamResponse, NormalizeMiddleware, StreamweirMiddleware
from streamweir.events import Content, wire_message
from streamweir.translation import taps as taps_module
from streamweir.translation.items import TextRun

pytestmark = pytest.mark.anyio

TEXTS = [f"word {number} " for number in range(30)]
MESSAGES = [*({"type": "token", "content": text} for text in TEXTS), {"type": "done"}]
FRAMES = [f"data: {json.dumps(message)}\n\n".encode() for message in MESSAGES]
APP = sending(start(SSE), *(body(frame, more=True) for frame in FRAMES), body())


class Listener(EventTap):
    """Keeps all events and calls."""

    def __init__(self, scope: Any) -> None:
        self.scope = scope
        self.messages: list[dict[str, Any]] = []
        self.finished = 0

    def write(self, event: Any, stamp: Any) -> None:
        self.messages.append(wire_message(event, stamp))

    def finish(self) -> None:
        self.finished += 1


class Listeners:
    """Makes a listener for each stream and keeps it."""

    def __init__(self, kind: Callable[[Any], Listener] = Listener) -> None:
        self.all: list[Listener] = []
        self.kind = kind

    def __call__(self, scope: Any) -> Listener:
        self.all.append(self.kind(scope))
        return self.all[-1]

    async def finished(self) -> Listener:
        """Return the only listener, once it has got its last call: a thread may call it on a busy machine."""
        (tap,) = self.all
        await until(lambda: tap.finished > 0)
        return tap


async def answer(app: Any, **options: Any) -> bytes:
    options = {"speaks": "legacy", **options}
    headers = {"x-request-id": "req_1", **options.pop("headers", {})}
    call = await Call(StreamweirMiddleware(app, **options), headers=[*headers.items()]).run()
    return bytes(call.answer.body)


def events_in(answered: bytes) -> list[dict[str, Any]]:
    return [event for line in answered.split(b"\n") if (event := parse_stream_line(line))]


def untimed(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**event, "metadata": {**event["metadata"], "timestamp": 0, "session_id": ""}} for event in events
    ]


async def test_tap_gets_the_events_that_the_client_gets() -> None:
    listeners = Listeners()
    answered = await answer(APP, taps=[listeners])
    tap = await listeners.finished()
    assert untimed(events_in(answered)) == untimed(tap.messages)
    assert tap.finished == 1
    assert tap.scope["path"] == "/chat"


async def test_tap_gets_canonical_events_of_frames_that_are_copied() -> None:
    listeners = Listeners()
    answered = await answer(APP, taps=[listeners], answers=("legacy",))
    assert answered == b"".join(FRAMES)
    tap = await listeners.finished()
    assert "".join(m["data"]["content"] for m in tap.messages if m["type"] == "content") == "".join(TEXTS)
    assert tap.messages[-1]["type"] == "session_end"


async def test_tap_gets_a_folded_answer_event_by_event() -> None:
    listeners = Listeners()
    answered = await answer(APP, taps=[listeners], headers={"accept": "application/json"})
    tap = await listeners.finished()
    texts = [m["data"]["content"] for m in tap.messages if m["type"] == "content"]
    assert "".join(texts) == json.loads(answered)["message"]["content"]


async def test_every_layer_above_taps_the_stream_of_a_response_below() -> None:
    async def endpoint(scope: Any, receive: Any, send: Any) -> None:
        await EventStreamResponse([{"type": "content", "content": "Hi"}])(scope, receive, send)

    inner, outer = Listeners(), Listeners()
    app = NormalizeMiddleware(endpoint, speaks="legacy", taps=[inner])
    answered = await answer(app, taps=[outer])
    for listeners in (inner, outer):
        tap = await listeners.finished()
        assert untimed(tap.messages) == untimed(events_in(answered))
        assert tap.finished == 1


async def test_responses_that_are_no_streams_have_no_tap() -> None:
    listeners = Listeners()
    app = sending(start(b"application/json"), body(b"{}"))
    assert await answer(app, taps=[listeners]) == b"{}"
    assert listeners.all == []


async def test_maker_that_raises_or_returns_no_tap_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def raises(_scope: Any) -> Any:
        raise RuntimeError("no tap today")

    listeners = Listeners()
    makers: list[Any] = [raises, lambda _scope: None, lambda _scope: object(), listeners]
    answered = await answer(APP, taps=makers)
    tap = await listeners.finished()
    assert len(events_in(answered)) == len(tap.messages)
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2


@pytest.mark.parametrize("taps", [None, 5, ["a"], [None], "a"])
async def test_taps_that_are_not_callables_are_refused(taps: Any) -> None:
    with pytest.raises(ConfigurationError, match="taps must be a list of callables"):
        NormalizeMiddleware(APP, speaks="legacy", taps=taps)


@pytest.mark.parametrize("method", ["write", "finish", "frame"])
async def test_tap_that_raises_is_taken_off_and_the_stream_does_not_notice(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[str] = []

    def broken(*_: Any) -> None:
        calls.append(method)
        raise ValueError("broken")

    class Broken(Listener):
        pass

    setattr(Broken, method, broken)
    listeners = Listeners()
    answered = await answer(APP, taps=[Broken, listeners])
    plain = await answer(APP)
    assert len(events_in(answered)) == len(events_in(plain))
    tap = await listeners.finished()
    assert len(tap.messages) == len(events_in(plain))
    await until(
        lambda: len([entry for entry in caplog.records if "taken off" in entry.message]) == len(calls)
    )
    assert len(calls) <= 1


async def test_slow_tap_delays_the_stream_by_one_call_and_gets_everything_in_order() -> None:
    class Slow(Listener):
        def __init__(self, scope: Any) -> None:
            super().__init__(scope)
            self.done = threading.Event()

        def write(self, event: Any, stamp: Any) -> None:
            time.sleep(0.1)
            super().write(event, stamp)

        def finish(self) -> None:
            super().finish()
            self.done.set()

    listeners = Listeners(Slow)
    began = time.thread_time(), time.monotonic()
    answered = await answer(APP, taps=[listeners])
    took = time.monotonic() - began[1]
    (tap,) = listeners.all
    assert isinstance(tap, Slow)
    assert tap.done.wait(30)
    assert [message["metadata"]["sequence"] for message in tap.messages] == [*range(len(tap.messages))]
    assert len(tap.messages) == len(events_in(answered))
    assert took < 0.1 * len(tap.messages) / 2


async def test_tap_that_falls_too_far_behind_is_taken_off(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = threading.Event()

    class Stuck(Listener):
        def write(self, event: Any, stamp: Any) -> None:
            super().write(event, stamp)
            if len(self.messages) == 1:
                time.sleep(0.03)
            else:
                may_go_on.wait(30)

    monkeypatch.setattr(taps_module, "_MOST_WAITING", 5)
    listeners = Listeners(Stuck)
    try:
        answered = await answer(APP, taps=[listeners])
    finally:
        may_go_on.set()
    assert events_in(answered)[-1]["type"] == "session_end"
    assert [record.message for record in caplog.records if "too slow" in record.message]


async def test_events_that_a_tap_keeps_do_not_change() -> None:
    class Keeper(Listener):
        def __init__(self, scope: Any) -> None:
            super().__init__(scope)
            self.kept: list[tuple[Any, Any]] = []

        def write(self, event: Any, stamp: Any) -> None:
            super().write(event, stamp)
            self.kept.append((event, stamp))

    keepers = Listeners(Keeper)
    answered = await answer(APP, taps=[keepers])
    tap = await keepers.finished()
    assert isinstance(tap, Keeper)
    assert [wire_message(event, stamp) for event, stamp in tap.kept] == tap.messages
    assert len(tap.kept) == len(events_in(answered))


async def test_tap_is_finished_when_the_application_raises_and_when_the_client_leaves() -> None:
    listeners = Listeners()
    failing = sending(start(SSE), body(FRAMES[0], more=True), RuntimeError("broken"))
    answered = await answer(failing, taps=[listeners])
    assert [event["type"] for event in events_in(answered)][-2:] == ["error", "session_end"]
    tap = await listeners.finished()
    assert tap.messages[-1]["type"] == "session_end"
    assert tap.finished == 1


@pytest.mark.parametrize("answers", ["legacy", "standard", "openai-chat"])
async def test_tap_gets_every_frame_with_its_items(answers: str) -> None:
    class FrameListener(Listener):
        def __init__(self, scope: Any) -> None:
            super().__init__(scope)
            self.frames: list[bytes] = []
            self.texts: list[str] = []

        def frame(self, raw: bytes, items: Any) -> None:
            self.frames.append(raw)
            for item in items:
                if isinstance(item, TextRun):
                    self.texts += item.texts
                elif isinstance(item, Content):
                    self.texts.append(item.content)

    listeners = Listeners(FrameListener)
    plain = await answer(APP, answers=(answers,))
    answered = await answer(APP, answers=(answers,), taps=[listeners])
    tap = await listeners.finished()
    assert isinstance(tap, FrameListener)
    assert b"".join(tap.frames) == b"".join(FRAMES)
    assert tap.texts == TEXTS
    assert answered.count(b"word") == plain.count(b"word") == len(TEXTS)
    if answers == "legacy":
        assert answered == plain == b"".join(FRAMES)
