"""The plots count each row in the seconds in which it began, was open and ended, however late it is known."""

from typing import Any

from streamweir_gateway.console.plots import MAX_SAMPLES, SECONDS, Plots
from streamweir_gateway.console.row import Row
from streamweir_gateway.console.row_book import RowBook

NOW = 1_700_000_000.0


def row(began: float, state: Any = "ended", **fields: Any) -> Row:
    """A row that began so many seconds after `NOW`."""
    known = {"id": "1", "request_id": "req_1", "worker": 1, "endpoint": "/chat", **fields}
    return Row(state=state, began=round((NOW + began) * 1000), **known)


def plotted(plots: Plots, name: str, endpoint: str | None = None) -> dict[int, Any]:
    """The values of a plot that are not 0, by the second after `NOW`."""
    found = plots.all(endpoint)
    return {t - round(NOW): value for t, value in zip(found["t"], found[name], strict=True) if value}


def test_row_that_is_known_after_its_end_was_open_at_the_end_of_each_second_before() -> None:
    plots = Plots(NOW)
    plots.note(None, row(0.5, duration_ms=2700.0, first_event_ms=600.0, reason="done"), NOW + 5)
    plots.tick(NOW + 6)
    assert plotted(plots, "open") == {0: 1, 1: 1, 2: 1} == plotted(plots, "open", "/chat")
    assert plotted(plots, "started") == {0: 1}
    assert plots.all()["reasons"]["done"][-3] == 1
    assert plots.all()["first_event"]["p50"][-5] == 600.0
    assert plotted(plots, "open", "/other") == {}


def test_row_that_is_known_late_is_open_until_it_ends() -> None:
    plots, running = Plots(NOW), row(0.5, "streaming")
    plots.note(None, running, NOW + 3)
    plots.note(running, row(0.5, duration_ms=5000.0), NOW + 5.5)
    plots.tick(NOW + 9)
    assert plotted(plots, "open") == {0: 1, 1: 1, 2: 1, 3: 1, 4: 1}


def test_short_and_very_old_rows_are_open_in_no_second() -> None:
    plots = Plots(NOW)
    plots.tick(NOW + SECONDS + 5)
    plots.note(None, row(0.5, duration_ms=300.0), NOW + SECONDS + 5)
    plots.note(None, row(SECONDS + 3.1, duration_ms=300.0), NOW + SECONDS + 5)
    assert plotted(plots, "open") == {}
    assert plotted(plots, "started") == {SECONDS + 3: 1}


def test_second_keeps_a_bounded_number_of_samples() -> None:
    plots = Plots(NOW)
    for number in range(2 * MAX_SAMPLES):
        plots.note(None, row(0.0, duration_ms=1.0, max_gap_ms=number + 1.0, reason="done"), NOW)
    plots.tick(NOW + 1)
    assert plots.all()["gap"]["p99"][-1] < MAX_SAMPLES
    assert plots.all()["reasons"]["done"][-1] == 2 * MAX_SAMPLES


def test_rows_of_a_process_that_has_ended_are_not_open_any_longer() -> None:
    plots, book = Plots(NOW), RowBook(10)
    book.on_row = [lambda before, changed: plots.note(before, changed, NOW + 1.5)]
    book.put(row(0.5, "streaming"))
    book.lose(1)
    plots.tick(NOW + 4)
    assert plotted(plots, "open") == {0: 1}
    assert plots.all()["reasons"]["lost"][-3] == 1
