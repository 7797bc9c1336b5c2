"""The book of rows keeps ended rows packed until somebody asks for rows, and never more than its limit."""

from typing import Any

import pytest

from streamweir_gateway.console.link_messages import packed_rows
from streamweir_gateway.console.row import PackedRow, PlottedRow, Row, row_of
from streamweir_gateway.console.row_book import RowBook


def ended(*numbers: int, **fields: Any) -> list[PackedRow]:
    """Rows that have ended; each number gives an id and a beginning."""
    known = {"endpoint": "/chat", "reason": "done", "capture": "content", **fields}
    return [
        PackedRow(id=f"a-{number}", request_id=f"req_{number}", state="ended", began=number, **known)
        for number in numbers
    ]


def put_ended(book: RowBook, *numbers: int, gone: list[str] | None = None, worker: int = 1) -> None:
    book.put_ended(worker, packed_rows(ended(*numbers)), len(numbers), gone or [])


def ids(book: RowBook) -> list[str]:
    """The ids of the rows, the newest first."""
    return [row.id for row in book]


def test_row_of_packed_row_has_all_of_its_facts() -> None:
    packed = ended(7, first_event_ms=1.5, hint="a hint", status=200, thread_id="t")[0]
    row = row_of(packed, 3)
    assert row.worker == 3
    assert {name: getattr(row, name) for name in packed.__struct_fields__} == {
        name: getattr(packed, name) for name in packed.__struct_fields__
    }


def test_packed_rows_are_decoded_only_when_rows_are_asked_for() -> None:
    book, decoded = RowBook(10), list[Row]()
    book.on_decoded = decoded.append
    put_ended(book, 1, 2)
    assert not decoded
    assert book.get("a-2") is decoded[1]
    assert [(row.id, row.seq) for row in decoded] == [("a-1", 1), ("a-2", 2)]
    assert ids(book) == ["a-2", "a-1"]
    assert len(decoded) == 2


def test_facts_of_packed_rows_are_reported_at_once() -> None:
    book, reported = RowBook(10), list[PlottedRow]()
    book.on_ended = reported.extend
    put_ended(book, 1, 2)
    assert [(row.began, row.endpoint, row.reason) for row in reported] == [
        (1, "/chat", "done"),
        (2, "/chat", "done"),
    ]


@pytest.mark.parametrize("most", [0, 1, 3, 4, 5, 100])
@pytest.mark.parametrize("asks_after", [None, 2, 7])
def test_book_keeps_the_newest_rows_up_to_its_limit(most: int, asks_after: int | None) -> None:
    book = RowBook(most)
    for number in range(0, 30, 3):
        put_ended(book, number, number + 1, number + 2)
        if asks_after == number // 3:
            book.decode()
    assert ids(book) == [f"a-{number}" for number in range(29, 29 - min(most, 30), -1)]
    assert book.seq == 30


def test_open_row_stays_while_newer_rows_fill_the_book() -> None:
    book = RowBook(2)
    book.put(Row(id="open", request_id="req", worker=1, state="streaming", began=0))
    for number in range(1, 9):
        put_ended(book, number)
    assert ids(book) == ["a-8", "a-7", "open"]


def test_captures_that_are_gone_are_noted_in_packed_and_in_decoded_rows() -> None:
    book = RowBook(10)
    put_ended(book, 1, 2, gone=["a-2"])
    book.decode()
    put_ended(book, 3, gone=["a-1", "unknown"])
    assert {row.id: row.capture for row in book} == {"a-3": "content", "a-2": "none", "a-1": "none"}


def test_captures_of_packed_rows_are_lost_with_their_process() -> None:
    book = RowBook(10)
    put_ended(book, 1, worker=1)
    put_ended(book, 2, worker=2)
    book.lose(1)
    assert {row.id: (row.worker, row.capture) for row in book} == {"a-2": (2, "content"), "a-1": (1, "none")}


def test_rows_that_changed_since_a_number_include_packed_rows() -> None:
    book = RowBook(10)
    put_ended(book, 1, 2)
    book.decode()
    put_ended(book, 3)
    assert [row.id for row in book.changed_since(1)] == ["a-2", "a-3"]


def test_rows_of_one_millisecond_are_in_the_order_of_their_requests() -> None:
    book = RowBook(10)
    open_row, *earlier = (
        PackedRow(id=f"a-{number}", request_id=f"req_{number}", state="streaming", began=5)
        for number in (11, 9, 10)
    )
    book.put(row_of(open_row, 1))
    for row in earlier:  # they have ended between two messages, and arrive behind the open one
        row.state = "ended"
    book.put_ended(1, packed_rows(earlier), 2, [])
    assert ids(book) == ["a-11", "a-10", "a-9"]
