"""Pauses for a person on a connection that stays open: no silence, no failure, and no end."""

import json
from typing import Any

import pytest

from streams import events_of
from streamweir import Translator

FIXED: dict[str, Any] = {"framing": "ndjson", "request_id": "req_1", "session_id": "s", "clock": lambda: 0}


def easyflow(domain: str, kind: str, **payload: Any) -> bytes:
    envelope = {"protocol": "easyflow-chat", "domain": domain, "type": kind, "payload": payload}
    return f"event: message\ndata: {json.dumps(envelope)}\n\n".encode()


FORM = easyflow("interaction", "form_request", form_id="f", schema={"type": "object"})
SUSPENDED = easyflow("system", "status", state="suspended")
TEXT = easyflow("llm", "message", delta="Hi")
DONE = b'event: done\ndata: {"protocol":"easyflow-chat","domain":"system","type":"done"}\n\n'


@pytest.mark.parametrize("pause", [FORM, SUSPENDED])
def test_easyflow_pause_waits_and_continues(pause: bytes) -> None:
    translator = Translator(speaks="easyflow", **FIXED)
    translator.feed(TEXT)
    out = translator.feed(pause)
    seen = [translator.waits]
    out += translator.feed(easyflow("system", "status", state="resumed") + TEXT)
    seen += [translator.waits, translator.complete]
    assert seen == [True, False, False]
    out += translator.feed(DONE)
    assert events_of(out)[-1]["data"]["status"] == "completed"


@pytest.mark.parametrize("pause", [FORM, SUSPENDED])
@pytest.mark.parametrize("cut", [False, True])
def test_easyflow_pause_at_the_end_is_suspended(pause: bytes, cut: bool) -> None:
    translator = Translator(speaks="easyflow", **FIXED)
    out = translator.feed(TEXT + pause)
    out += translator.fail("UPSTREAM_TRUNCATED") if cut else translator.close()
    assert events_of(out)[-1]["data"]["status"] == "suspended"


def test_approval_of_a_standard_upstream_waits_until_more_comes() -> None:
    asked = {"interaction_id": "i", "kind": "approval", "state": "requested"}
    translator = Translator(speaks="standard", **FIXED)
    translator.feed(_standard("content", content="Hi"))
    translator.feed(_standard("interaction", **asked))
    seen = [translator.waits]
    translator.feed(_standard("content", content="On we go"))
    assert [*seen, translator.waits] == [True, False]


def test_call_of_the_client_is_no_pause() -> None:
    translator = Translator(speaks="standard", **FIXED)
    translator.feed(_standard("tool_call_start", tool_id="t", tool_name="f", arguments={}))
    translator.feed(_standard("interaction", interaction_id="t", kind="tool", state="requested"))
    assert not translator.waits
    assert events_of(translator.fail("UPSTREAM_TRUNCATED"))[-1]["data"]["status"] == "error"


def _standard(name: str, /, **data: Any) -> bytes:
    return f"data: {json.dumps({'type': name, 'data': data, 'metadata': {}})}\n\n".encode()
