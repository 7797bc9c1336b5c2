"""Nothing runs that a person has not clearly approved, whatever the service calls an approval."""

import json
from typing import Any

import pytest

import streamweir
from streamweir.requests.decisions import decision_in

HELD: dict[str, Any] = {
    "google-adk": {"id": "adk-1", "name": "adk_request_confirmation"},
    "langgraph-server": {"thread_id": "t1", "interrupt_id": "i1", "decisions": 1},
    "vercel-ui": {"approvalId": "a1"},
    "a2a": {"function_call": {"id": "adk-1", "name": "adk_request_confirmation"}, "task_id": "t"},
    "agno": {"run_id": "r1", "tools": [{"tool_call_id": "c1", "requires_confirmation": True}]},
}
APPROVED = ('"confirmed":true', '"type":"approve"', '"approved":true')
REFUSED = ('"confirmed":false', '"type":"reject"', '"approved":false')


def written(dialect: str, **answer: Any) -> str:
    asked = {"interaction_id": "c1", "action": "submit", "resume": HELD[dialect], **answer}
    path = {"google-adk": "/run_sse", "langgraph-server": "/runs/stream"}.get(dialect, "/agents/a/runs")
    mapped = {"appName": "app"} if dialect == "google-adk" else None
    request = {"thread_id": "t1", "resume": [asked]}
    sent = streamweir.write_request(request, dialect=dialect, path=path, mapped=mapped)[-1]
    return json.dumps(sent).replace("\\", "").replace(": ", ":")


@pytest.mark.parametrize("dialect", HELD)
@pytest.mark.parametrize(
    ("answer", "approved"),
    [
        ({"value": "Yes, go on"}, True),
        ({"value": "ok"}, True),
        ({"value": "no"}, False),
        ({"value": "What would it delete?"}, False),
        ({"value": "yes, but not the second one"}, False),
        ({"action": "approve"}, True),
        ({"action": "reject", "value": "yes"}, False),
    ],
)
def test_confirms_accepts_only_a_clear_yes(dialect: str, answer: dict[str, Any], approved: bool) -> None:
    body = written(dialect, **answer)
    wanted, unwanted = (APPROVED, REFUSED) if approved else (REFUSED, APPROVED)
    assert any(words in body for words in wanted), body
    assert not any(words in body for words in unwanted), body


@pytest.mark.parametrize("text", ["", "blue", "yesterday", "maybe", "yes" * 1000, "yes, wait", "是不是"])
def test_decision_in_unclear_text_is_none(text: str) -> None:
    assert decision_in(text) is None


@pytest.mark.parametrize("text", ["是", "好的。", "Ja!", " Approved ", "OK, do it"])
def test_decision_in_knows_yes_in_several_languages(text: str) -> None:
    assert decision_in(text) is True


@pytest.mark.parametrize("text", ["否", "不要", "Don’t", "don't do it", "No problem", "cancel"])
def test_decision_in_knows_no_in_several_languages(text: str) -> None:
    assert decision_in(text) is False
