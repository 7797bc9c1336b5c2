"""A long input on a terminal shows how far it is, and leaves nothing behind."""

import io

import pytest

from streamweir_gateway.cli import progress


def test_long_input_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress, "_FIRST_SECONDS", 0.0)

    assert [*progress.shown([b"x" * 512, b"x" * 512], 2048)] == [b"x" * 512] * 2

    assert "25 %" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_short_input_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr("sys.stderr", terminal)

    assert b"".join(progress.shown([b"x"], None)) == b"x"

    assert terminal.getvalue() == ""
