"""What AgentOS is sent: a form with a message, and the answers to what its recorded runs wait for."""

import contextlib
import json
from typing import Any

import pytest

from places import ROOT
from streams import events_of, translate
from streamweir import RequestError, write_request

AGENT = "/agents/weather/runs"
TEAM = "/teams/desk/runs"
WORKFLOW = "/workflows/report/runs"
BYTES = {"type": "file", "base64": "YWI=", "media_type": "text/plain", "name": "a.txt"}
Fields = dict[str, Any]


def asked_in(name: str) -> list[Fields]:
    """The interactions of a recorded stream."""
    body = (ROOT / f"tests/dialects/agno/{name}.sse").read_bytes()
    return [
        event["data"]
        for event in events_of(translate([body], speaks="agno"))
        if event["type"] == "interaction"
    ]


def answered(name: str, path: str, action: str, value: Any = None) -> tuple[Fields, Fields, list[Fields]]:
    """What is sent for the same answer to all that is asked: the request, its form, the items in it."""
    answers = [
        {
            "interaction_id": asked["interaction_id"],
            "action": action,
            "value": value,
            "resume": asked["resume"],
        }
        for asked in asked_in(name)
    ]
    (sent,) = write_request({"resume": answers}, dialect="agno", path=path)
    (items,) = [
        json.loads(sent["form"][key]) for key in sent["form"] if key.endswith(("tools", "requirements"))
    ]
    return sent, sent["form"], items


def test_message_is_sent_as_a_form() -> None:
    request = {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}, BYTES]}],
        "thread_id": "s1",
        "user": "ann",
    }
    (sent,) = write_request(request, dialect="agno", path=AGENT)
    (file,) = sent["form"].pop("files")
    assert sent["form"] == {
        "message": "hi",
        "stream": "true",
        "stream_events": "true",
        "session_id": "s1",
        "user_id": "ann",
    }
    assert "a.txt" in json.dumps(file)
    assert (sent["method"], sent["path"]) == ("POST", AGENT)


def test_playground_workflow_gets_json() -> None:
    request = {
        "messages": [{"role": "user", "content": "hi"}],
        "thread_id": "s1",
        "inputs": {"topic": "snow"},
    }
    (sent,) = write_request(request, dialect="agno", path="/v1/playground/workflows/w1/runs")
    assert sent["body"] == {"input": {"message": "hi", "topic": "snow"}, "session_id": "s1"}


@pytest.mark.parametrize(
    ("action", "value", "confirmed"),
    [
        ("approve", None, True),
        ("submit", "yes", True),
        ("submit", {"approved": True}, True),
        ("reject", "too dear", False),
        ("cancel", None, False),
        ("submit", "No.", False),
        ("submit", {"approved": False}, False),
        ("submit", False, False),
    ],
)
def test_approval_sets_confirmed(action: str, value: Any, confirmed: bool) -> None:
    (asked,) = asked_in("confirmation")
    sent, form, (tool,) = answered("confirmation", AGENT, action, value)
    assert sent["path"] == f"{AGENT}/{asked['resume']['run_id']}/continue"
    assert form["session_id"] == asked["resume"]["session_id"]
    assert form["stream"] == "true"
    assert (tool["tool_call_id"], tool["confirmed"]) == (asked["interaction_id"], confirmed)
    assert tool.get("confirmation_note") == (
        "too dear" if value == "too dear" else "No." if value == "No." else None
    )


def test_form_answer_fills_the_fields() -> None:
    (tool,) = answered("user-input", AGENT, "submit", {"to": "ann", "count": 2})[2]
    assert {field["name"]: field["value"] for field in tool["user_input_schema"]} == {
        "subject": "Hi",
        "to": "ann",
        "count": 2,
    }
    assert tool["answered"] is True


def test_rejected_form_is_not_filled() -> None:
    (tool,) = answered("user-input", AGENT, "cancel")[2]
    assert (tool["requires_confirmation"], tool["confirmed"], tool["requires_user_input"]) == (
        True,
        False,
        None,
    )


@pytest.mark.parametrize(
    "value", ["no", "Oslo", ["Oslo"], {"Which city?": "Oslo"}, {"City": ["Oslo"]}, {"question_1": "Oslo"}]
)
def test_answers_to_questions_are_selected_options(value: Any) -> None:
    (tool,) = answered("user-feedback", AGENT, "submit", value)[2]
    chosen = "no" if value == "no" else "Oslo"
    assert [question["selected_options"] for question in tool["user_feedback_schema"]] == [[chosen]]
    assert tool["answered"] is True


@pytest.mark.parametrize(
    ("action", "value", "result"),
    [("submit", "a.txt", "a.txt"), ("submit", {"a": 1}, '{"a":1}'), ("cancel", None, "cancelled")],
)
def test_external_call_gets_its_result(action: str, value: Any, result: str) -> None:
    assert asked_in("external-execution")[0]["kind"] == "tool"
    (tool,) = answered("external-execution", AGENT, action, value)[2]
    assert tool["result"] == result


@pytest.mark.parametrize(("action", "confirmed"), [("approve", True), ("reject", False)])
def test_team_answer_contains_its_requirements(action: str, confirmed: bool) -> None:
    sent, form, (requirement,) = answered("team-paused", TEAM, action)
    assert sent["path"].startswith(f"{TEAM}/")
    assert "requirements" in form
    assert requirement["confirmation"] is confirmed
    assert requirement["tool_execution"]["confirmed"] is confirmed
    assert requirement["member_run_id"]


@pytest.mark.parametrize(
    ("name", "action", "value", "expected"),
    [
        ("workflow-paused-step", "approve", None, {"confirmed": True}),
        ("workflow-paused-step", "reject", "not now", {"confirmed": False, "rejection_feedback": "not now"}),
        ("workflow-paused-input", "submit", {"to": "ann", "n": 2}, {"user_input": {"to": "ann", "n": 2}}),
        ("workflow-paused-input", "cancel", None, {"confirmed": False, "requires_user_input": False}),
        ("workflow-paused-route", "reject", None, {"confirmed": False, "requires_route_selection": False}),
        ("workflow-paused-route", "submit", "rb", {"selected_choices": ["rb"]}),
        ("workflow-paused-route", "submit", {"question_1": "rb"}, {"selected_choices": ["rb"]}),
        ("workflow-paused-review", "submit", "no", {"confirmed": False, "edited_output": None}),
        ("workflow-paused-review", "submit", "yes", {"confirmed": True, "edited_output": None}),
        ("workflow-paused-step", "submit", "later", {"confirmed": False, "rejection_feedback": "later"}),
        ("workflow-paused-review", "submit", "better", {"confirmed": True, "edited_output": "better"}),
    ],
)
def test_workflow_answer_contains_its_steps(name: str, action: str, value: Any, expected: Fields) -> None:
    _, form, (step,) = answered(name, WORKFLOW, action, value)
    assert "step_requirements" in form
    assert {key: step.get(key) for key in expected} == expected


def test_calls_of_one_step_are_answered_in_one_step() -> None:
    (asked,) = asked_in("workflow-paused-call")
    (step,) = asked["resume"]["step_requirements"]
    (call,) = step["executor_requirements"]
    answers = [
        {
            "interaction_id": name,
            "action": action,
            "resume": {
                **asked["resume"],
                "step_requirements": [{**step, "executor_requirements": [{**call, "id": name}]}],
            },
        }
        for name, action in (("a", "approve"), ("b", "reject"))
    ]
    (sent,) = write_request({"resume": answers}, dialect="agno", path=WORKFLOW)
    (found,) = json.loads(sent["form"]["step_requirements"])
    assert [(call["id"], call["confirmation"]) for call in found["executor_requirements"]] == [
        ("a", True),
        ("b", False),
    ]


@pytest.mark.parametrize(
    "resume", [{}, {"run_id": "r1"}, {"run_id": "..", "tools": [{}]}, {"run_id": 7, "tools": [{}]}]
)
def test_answer_without_resume_is_refused(resume: Fields) -> None:
    with pytest.raises(RequestError) as raised:
        write_request(
            {"resume": [{"interaction_id": "i1", "action": "approve", "resume": resume}]},
            dialect="agno",
            path=AGENT,
        )
    assert (raised.value.status, raised.value.field) == (400, "resume")


@pytest.mark.parametrize("junk", [None, 7, "x", [], [7], {}, [{}], [{"name": []}], [{"question": {}}]])
@pytest.mark.parametrize("key", ["tools", "requirements", "step_requirements"])
@pytest.mark.parametrize("value", [None, "x", {"x": 1}, [["x"]]])
def test_any_resume_never_raises_another_error(junk: Any, key: str, value: Any) -> None:
    item = {
        "requires_user_input": True,
        "user_input_schema": junk,
        "user_feedback_schema": junk,
        "executor_requirements": junk,
        "tool_execution": junk,
        "step_id": junk,
    }
    for items in (junk, [item], [{**item, "tool_execution": item}]):
        answer = {
            "interaction_id": "i",
            "action": "submit",
            "value": value,
            "resume": {"run_id": "r1", key: items},
        }
        with contextlib.suppress(RequestError):
            write_request({"resume": [answer, answer]}, dialect="agno", path=AGENT)
