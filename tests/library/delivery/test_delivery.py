"""A delivery and its supervisor, on asyncio and on trio."""

import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from patience import PROMPTLY
from streamweir.delivery.client_port import ClientPort
from streamweir.delivery.delivery import ClientGoneError, Delivery
from streamweir.delivery.scheduler import GroupScheduler
from streamweir.delivery.source import Source
from streamweir.delivery.supervisor import DeliverySupervisor
from streamweir.errors import error_info
from streamweir.http.headers import Headers
from streamweir.options.timeouts import Timeouts
from streamweir.translation.clock import Due, StreamClock
from streamweir.translation.translator import Translator

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


TOKEN = b'data: {"type": "token", "content": "Hi"}\n\n'


SOON = Timeouts.of({"connect": None, "first_event": "20ms", "idle": None, "total": None})


class SlowClient(ClientPort):
    """A client that takes a piece once `reads` is set; each piece is announced by `came`."""

    def __init__(self, *, reads: bool = True) -> None:
        self.reads = anyio.Event()
        self.came = anyio.Event()
        self.status = 0
        self.headers: Headers = []
        self.pieces: list[bytes] = []
        self.has_ended = False
        self.is_aborted = False
        self.failure: OSError | None = None
        if reads:
            self.reads.set()

    async def send_start(self, status: int, headers: Headers) -> None:
        self.status, self.headers = status, headers

    async def send_body(self, data: bytes, more: bool) -> None:
        if self.failure is not None:
            raise self.failure
        self.pieces.append(data)
        self.came.set()
        self.has_ended = not more
        await self.reads.wait()

    def unsent(self) -> int | None:
        return 0 if self.reads.is_set() else 1

    def abort(self) -> None:
        self.is_aborted = True


class PlainDelivery(Delivery):
    def _headers(self) -> Headers:
        return [(b"content-type", self.sink.media_type.encode())]


class Told(Source):
    def __init__(self) -> None:
        self.words: list[str] = []
        self.has_ended = anyio.Event()

    def lose_client(self) -> None:
        self.words.append("lost")

    def abandon(self) -> None:
        self.words.append("abandoned")
        self.has_ended.set()

    def run_out(self, due: Due) -> None:
        self.words.append(due)
        self.has_ended.set()


def delivery_to(client: ClientPort, translator: Translator, **clock: Any) -> PlainDelivery:
    delivery = PlainDelivery(client, StreamClock(began=time.monotonic(), **clock))
    delivery.sink = translator.writer
    return delivery


async def test_headers_leave_with_the_first_piece_and_one_part_is_one_send() -> None:
    client, translator = SlowClient(), Translator(speaks="legacy", answers="legacy")
    delivery = delivery_to(client, translator)
    assert client.status == 0
    for _ in range(3):
        translator.stream.feed(TOKEN)
        await delivery.send()
    await delivery.send()
    assert client.status == 200
    assert client.pieces == [TOKEN] * 3
    assert delivery.bytes == 3 * len(TOKEN)


async def test_bytes_of_a_cancelled_send_leave_with_the_next_piece() -> None:
    client, translator = SlowClient(reads=False), Translator(speaks="legacy", answers="legacy")
    delivery = delivery_to(client, translator)
    async with anyio.create_task_group() as tasks:
        translator.stream.feed(TOKEN)
        tasks.start_soon(delivery.send)
        await anyio.wait_all_tasks_blocked()
        translator.stream.feed(TOKEN)
        with anyio.move_on_after(0.01):
            await delivery.send()
        client.reads.set()
    translator.stream.feed(b'data: {"type": "done"}\n\n')
    translator.stream.close()
    await delivery.finish()
    assert b"".join(client.pieces) == TOKEN * 2 + b'data: {"type": "done"}\n\n'
    assert client.has_ended


@pytest.mark.parametrize(("fails", "status"), [(False, 200), (True, 504)])
async def test_folded_answer_gets_the_status_of_its_failure(fails: bool, status: int) -> None:
    client, translator = SlowClient(), Translator(speaks="legacy", framing="json")
    delivery = delivery_to(client, translator)
    if fails:
        translator.stream.fail(error_info("UPSTREAM_TIMEOUT"))
    else:
        translator.stream.feed(TOKEN + b'data: {"type": "done"}\n\n')
        translator.stream.close()
    await delivery.finish(translator.error)
    assert client.status == status
    assert dict(client.headers)[b"content-length"] == b"%d" % len(b"".join(client.pieces))


async def test_client_that_has_left_raises_at_each_send() -> None:
    client, translator = SlowClient(), Translator(speaks="legacy", answers="legacy")
    delivery = delivery_to(client, translator)
    client.failure = OSError("gone")
    for error in (OSError, ClientGoneError, ClientGoneError):
        translator.stream.feed(TOKEN)
        with pytest.raises(error):
            await delivery.send()
    assert client.pieces == []


async def test_dropped_client_gets_nothing_and_its_sends_do_nothing() -> None:
    client, translator = SlowClient(), Translator(speaks="legacy", answers="legacy")
    delivery = delivery_to(client, translator)
    delivery.drop()
    translator.stream.feed(TOKEN)
    assert delivery.send_at_once(time.monotonic())
    await delivery.send()
    await delivery.finish()
    assert client.pieces == []


async def supervised(
    clock: StreamClock, delivery: Delivery, act: Callable[[DeliverySupervisor, Told], Awaitable[None]]
) -> list[str]:
    """Supervise a delivery while `act` runs; return the calls of its source."""
    source = Told()
    async with anyio.create_task_group() as tasks:
        supervisor = DeliverySupervisor(clock, source, GroupScheduler(tasks))
        supervisor.delivery = delivery
        supervisor.update()
        try:
            await act(supervisor, source)
        finally:
            supervisor.close()
    return source.words


async def test_silence_gets_heartbeats_and_pieces_hold_them_back() -> None:
    client, translator = SlowClient(), Translator(speaks="legacy")
    delivery = delivery_to(client, translator, heartbeat=0.02)

    async def act(supervisor: DeliverySupervisor, source: Told) -> None:
        await client.came.wait()
        assert client.pieces[0].startswith(b":")

    with anyio.fail_after(PROMPTLY):
        assert await supervised(delivery.clock, delivery, act) == []


async def test_client_that_does_not_read_is_dropped_as_slow() -> None:
    client, translator = SlowClient(reads=False), Translator(speaks="legacy", answers="legacy")
    delivery = delivery_to(client, translator, write=0.05)
    translator.stream.feed(TOKEN)

    async def act(supervisor: DeliverySupervisor, source: Told) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(delivery.send)
            await source.has_ended.wait()
            tasks.cancel_scope.cancel()
        assert supervisor.dropped == "slow_client"

    with anyio.fail_after(PROMPTLY):
        assert await supervised(delivery.clock, delivery, act) == ["abandoned"]


async def test_timeout_of_the_source_is_reported_once() -> None:
    translator = Translator(speaks="legacy")
    delivery = delivery_to(SlowClient(), translator, source=translator, timeouts=SOON)
    delivery.clock.asked = time.monotonic()

    async def act(supervisor: DeliverySupervisor, source: Told) -> None:
        await source.has_ended.wait()
        await anyio.sleep(0.05)

    with anyio.fail_after(PROMPTLY):
        assert await supervised(delivery.clock, delivery, act) == ["first_event_timeout"]


async def test_timer_can_be_set_anew_and_never_fires_after_close() -> None:
    fired: list[str] = []
    async with anyio.create_task_group() as tasks:
        scheduler = GroupScheduler(tasks)
        scheduler.set_timer(0.01, lambda: fired.append("first"))
        has_fired = anyio.Event()

        def fire() -> None:
            fired.append("second")
            has_fired.set()

        scheduler.set_timer(0.03, fire)
        await has_fired.wait()
        scheduler.set_timer(0.01, lambda: fired.append("third"))
        scheduler.set_timer(math.inf, lambda: fired.append("never"))
        await anyio.sleep(0.05)
        scheduler.set_timer(0.01, lambda: fired.append("closed"))
        scheduler.close()
        await anyio.sleep(0.05)
    assert fired == ["second"]
