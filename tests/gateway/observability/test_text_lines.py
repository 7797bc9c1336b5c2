"""Log lines for people, on a terminal."""

import io
import json
import logging
import os
import pty

import pytest

from streamweir_gateway.observability.logs import LogSettings, configure_logging, request_log

FIELDS = {
    "request_id": "req_1",
    "method": "POST",
    "endpoint": "/chat",
    "speaks": "legacy",
    "answers": "standard",
    "status": 200,
    "events": 42,
    "duration_ms": 1234.5,
}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def lines_of(form: str, stream: io.StringIO, level: str = "info") -> list[str]:
    log = request_log(stream, LogSettings(form, level))  # type: ignore[arg-type] # any form
    log.info("request", **FIELDS)
    log.warning(
        "request",
        **{**FIELDS, "code": "UPSTREAM_TRUNCATED", "reason": "truncated", "hint": "say\x1b[31m eof"},
    )
    return stream.getvalue().splitlines()


@pytest.mark.parametrize(("form", "stream"), [("text", io.StringIO()), ("auto", Terminal())])
def test_text_is_for_people(form: str, stream: io.StringIO) -> None:
    first, second, hint = lines_of(form, stream)
    assert first[8:] == " info  POST /chat 200 legacy -> standard, 42 events in 1.2 s [req_1]"
    assert " warn  POST /chat 200 legacy -> standard, UPSTREAM_TRUNCATED truncated " in second
    assert hint.strip() == "hint: say [31m eof"


@pytest.mark.parametrize(("form", "stream"), [("json", Terminal()), ("auto", io.StringIO())])
def test_json_is_for_programs(form: str, stream: io.StringIO) -> None:
    first, second = map(json.loads, lines_of(form, stream))
    assert (first["level"], second["hint"]) == ("info", "say\x1b[31m eof")


def test_log_level_leaves_out_lines_below_it() -> None:
    (line,) = lines_of("json", io.StringIO(), "warning")
    assert json.loads(line)["code"] == "UPSTREAM_TRUNCATED"
    assert lines_of("json", io.StringIO(), "error") == []


def test_other_loggers_write_the_same_form() -> None:
    stream = io.StringIO()
    root = logging.getLogger()
    before = root.handlers[:], root.level
    try:
        configure_logging(stream=stream, settings=LogSettings("text"))
        logging.getLogger("streamweir").warning("a stream was not understood", extra={"request_id": "req_1"})
    finally:
        root.handlers[:], root.level = before
    assert stream.getvalue().rstrip().endswith(" warn  a stream was not understood [req_1]")


def test_pseudo_terminal_gets_text_lines() -> None:
    parent, child = pty.openpty()
    try:
        with os.fdopen(child, "w") as stream:
            assert LogSettings("auto").line(stream) is LogSettings("text").line(None)
    finally:
        os.close(parent)
