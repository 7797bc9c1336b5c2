"""Texts that strangers choose stay in the line of their own request, in every form of the log."""

from __future__ import annotations

import io
import json
import logging
import re
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import fields

from loopback import ask, gateway, one_endpoint
from streamweir_gateway.config import LogForm
from streamweir_gateway.observability.logs import LogSettings, configure_logging, request_log
from streamweir_gateway.observability.metrics import Metrics
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord

FORMS: tuple[LogForm, ...] = ("json", "text")
CONTROLS = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\u2028", "\u2029", "\u202e", "\ufeff"]
BREAKS_OR_OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e\ufeff]")
"""All of them aside from the line feed, which ends the lines that are ours."""
FORGED = "15:04:05 info  POST /forged"


def planted(control: str) -> str:
    return f"before{control}{FORGED}"


def text_fields() -> list[str]:
    """The fields of a record that hold text, or texts."""
    types = typing.get_type_hints(RequestRecord)
    return [each.name for each in fields(RequestRecord) if "str" in str(types[each.name])]


def record_with(name: str, value: str) -> RequestRecord:
    takes_many = "list" in str(typing.get_type_hints(RequestRecord)[name])
    given: dict[str, Any] = {"request_id": "req_1", "method": "POST", "endpoint": "/chat"}
    return RequestRecord(**{**given, name: [value] if takes_many else value})


def assert_holds_no_forged_line(written: str, form: LogForm, about: object) -> None:
    assert not BREAKS_OR_OBEYED.search(written), about
    first, *others = written.removesuffix("\n").split("\n")
    assert not first.startswith(FORGED), about
    if form == "json":
        assert not others, about
        json.loads(first)
    assert all(line.startswith(" " * 15) for line in others), about


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", text_fields())
def test_request_line_with_a_control_character_in_any_field_stays_one_entry(form: LogForm, name: str) -> None:
    for control in CONTROLS:
        stream = io.StringIO()
        record = record_with(name, planted(control))
        Observer(request_log(stream, LogSettings(form)), Metrics()).ended(record)
        assert_holds_no_forged_line(stream.getvalue(), form, hex(ord(control)))


@pytest.fixture
def only_ours() -> Iterator[logging.Logger]:
    """The root logger without the handlers of the tests."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    root.handlers[:] = []
    yield root
    root.handlers[:], root.level = before


@pytest.mark.parametrize("form", FORMS)
def test_other_loggers_line_with_a_control_character_anywhere_stays_one_entry(
    form: LogForm, only_ours: logging.Logger
) -> None:
    for control in CONTROLS:
        text = planted(control)
        stream = io.StringIO()
        configure_logging(stream=stream, settings=LogSettings(form))
        failure = ValueError(text)
        only_ours.error("failed: %s", text, extra={"open": text, "request_id": text}, exc_info=failure)
        assert_holds_no_forged_line(stream.getvalue(), form, hex(ord(control)))


@pytest.mark.anyio
@pytest.mark.parametrize("form", FORMS)
async def test_requests_with_control_characters_in_path_and_headers_stay_in_their_lines(
    form: LogForm,
) -> None:
    stream = io.StringIO()
    log = request_log(stream, LogSettings(form))
    async with gateway(one_endpoint("http://127.0.0.1:1")) as running:
        for control in CONTROLS:
            coded = "".join(f"%{byte:02X}" for byte in f"x{control}{FORGED}".encode())
            await ask(running, "GET", f"/{coded}", body=b"", headers=[("X-Request-Id", f"a{coded}")])
            line = {**await running.log.next_line()}
            line.pop("level")
            log.info(line.pop("event"), **line)
    written = stream.getvalue()
    assert not BREAKS_OR_OBEYED.search(written)
    lines = written.splitlines()
    assert not [line for line in lines if line.startswith(FORGED)]
    assert len([line for line in lines if not line.startswith(" " * 15)]) == len(CONTROLS)
