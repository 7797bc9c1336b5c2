"""What belongs to a request reaches whatever the request calls, and nothing else."""

import asyncio
import concurrent.futures
import logging
import threading

import pytest

from streamweir import (
    RequestIDLogFilter,
    bind_context,
    collect_stream_warning,
    current_request_id,
    new_request_id,
)
from streamweir.context import MAX_COLLECTED, WarningCollector, bound_request_id


def messages(collector: WarningCollector) -> list[str]:
    return [warning.message for warning in collector.drain()]


def test_context_outside_of_a_request_is_empty() -> None:
    assert current_request_id() is None
    assert not collect_stream_warning("nobody hears it")


def test_request_id_alone_takes_no_warnings() -> None:
    with bound_request_id("req_1"):
        assert current_request_id() == "req_1"
        assert not collect_stream_warning("no stream")
    assert current_request_id() is None


def test_warnings_come_out_once_and_in_order() -> None:
    collector = WarningCollector("req_1")
    with collector.bound():
        assert current_request_id() == "req_1"
        assert collect_stream_warning("one")
        assert collect_stream_warning("two", message_code="TWO")
    assert messages(collector) == ["one", "two"]
    assert messages(collector) == []


def test_warnings_are_redacted_and_details_are_for_debug() -> None:
    for debug in (False, True):
        collector = WarningCollector("req_1", debug=debug)
        with collector.bound():
            collect_stream_warning("see /srv/app/secrets.py", detail={"password": "hunter2", "n": 1})
        (warning,) = collector.drain()
        assert "/srv/app" not in warning.message
        assert "hunter2" not in str(warning.detail)
        assert (warning.detail is not None) is debug


def test_warning_after_the_end_is_taken_by_no_stream() -> None:
    collector = WarningCollector("req_1")
    with collector.bound():
        collect_stream_warning("last")
        assert [warning.message for warning in collector.finish()] == ["last"]
        assert not collect_stream_warning("too late")
    assert collector.finish() == []


def test_warnings_without_a_stream_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    collector = WarningCollector("req_1")
    with collector.bound(), caplog.at_level(logging.WARNING, "streamweir"):
        assert collect_stream_warning("unheard", message_code="UNHEARD")
        collector.close()
        collector.close()
        assert not collect_stream_warning("too late")
    (record,) = caplog.records
    assert "unheard" in record.getMessage()
    assert record.request_id == "req_1"  # type: ignore[attr-defined]


def test_warnings_over_the_limit_are_counted() -> None:
    collector = WarningCollector("req_1")
    with collector.bound():
        for number in range(MAX_COLLECTED + 7):
            assert collect_stream_warning(str(number))
    assert len(collector.drain()) == MAX_COLLECTED
    assert [warning.message for warning in collector.finish()] == ["7 more warnings were left out."]


def test_one_layer_takes_over() -> None:
    collector = WarningCollector("req_1")
    assert [collector.attached, collector.attach(), collector.attached] == [False, True, True]
    assert not collector.attach()
    opened = WarningCollector("req_2")
    opened.open()
    assert not opened.attach()


def test_tasks_and_threads_of_asyncio_are_within_the_request() -> None:
    async def request(name: str) -> list[str]:
        collector = WarningCollector(name)
        with collector.bound():
            await asyncio.gather(
                asyncio.create_task(asyncio.sleep(0, collect_stream_warning(f"{name} here"))),
                asyncio.to_thread(lambda: collect_stream_warning(f"{current_request_id()} in a thread")),
            )
        return messages(collector)

    async def main() -> list[list[str]]:
        return await asyncio.gather(*(request(f"req_{number}") for number in range(200)))

    for number, got in enumerate(asyncio.run(main())):
        assert got == [f"req_{number} here", f"req_{number} in a thread"]


def test_bare_thread_needs_the_context_bound() -> None:
    found: list[str | None] = []

    def work() -> None:
        found.append(current_request_id())

    with bound_request_id("req_1"):
        bound = bind_context(work)
    for target in (work, bound):
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()
    assert found == [None, "req_1"]


def test_bound_function_may_run_many_times_at_once() -> None:
    collector = WarningCollector("req_1")
    barrier = threading.Barrier(8)

    def work(number: int, *, word: str) -> str:
        """Work."""
        barrier.wait(timeout=10)
        assert collect_stream_warning(f"{word} {number}")
        return f"{current_request_id()} {number}"

    with collector.bound():
        bound = bind_context(work)
        nested = bind_context(bound)
    assert bound.__doc__ == "Work."
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda number: nested(number, word="from"), range(8)))
    assert results == [f"req_1 {number}" for number in range(8)]
    assert sorted(messages(collector)) == [f"from {number}" for number in range(8)]


def test_collecting_from_many_threads_loses_nothing() -> None:
    collector = WarningCollector("req_1")
    got: list[str] = []
    with collector.bound():
        collect = bind_context(collect_stream_warning)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(collect, str(number)) for number in range(90)]
        while not all(future.done() for future in futures):
            got += messages(collector)
    got += messages(collector)
    assert sorted(got, key=int) == [str(number) for number in range(90)]


def record(**extra: object) -> logging.LogRecord:
    made = logging.makeLogRecord({"msg": "x", **extra})
    assert RequestIDLogFilter().filter(made)
    return made


def test_log_records_get_the_request_id() -> None:
    request_id = new_request_id()
    assert record().request_id == "-"  # type: ignore[attr-defined]
    with bound_request_id(request_id):
        assert record().request_id == request_id  # type: ignore[attr-defined]
        assert record(request_id="own").request_id == "own"  # type: ignore[attr-defined]
    made = logging.makeLogRecord({})
    RequestIDLogFilter(default="none").filter(made)
    assert made.request_id == "none"  # type: ignore[attr-defined]
