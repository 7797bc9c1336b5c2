"""Pages of rows that match a filter."""

from streamweir_gateway.console.row import PackedRow, Row, State, row_of
from streamweir_gateway.console.row_filter import RowFilter


def row(number: int, state: State) -> Row:
    return row_of(PackedRow(began=number, id=f"p-{number}", state=state), 1)


def test_page_before_a_row_outside_the_filter_begins_behind_the_row() -> None:
    rows = [row(4, "waiting"), row(3, "ended"), row(2, "waiting"), row(1, "waiting")]
    page = RowFilter.of({"state": "waiting", "before": "p-3"}).page(rows)
    assert [one.id for one in page.rows] == ["p-2", "p-1"]
    assert page.total == 3
