"""Data Formulator: what needs a choice (endpoint, profile), and what its own pages are given to read."""

import json
from typing import Any

import pytest

from streams import events_of, translate
from streamweir import detect_dialect
from streamweir.codec.registry import process_dialects
from streamweir.dialects.data_formulator.decode import DataFormulatorDecoder

NAME = "data-formulator"


def lines(*messages: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(message, ensure_ascii=False).encode() + b"\n" for message in messages)


def standard(*events: tuple[str, dict[str, Any]]) -> bytes:
    metadata = {"request_id": "req_1", "timestamp": 1_790_000_000_000, "sequence": 0}
    return lines(*({"type": type_, "data": data, "metadata": metadata} for type_, data in events))


def written(body: bytes, *, speaks: str = "standard", **options: str) -> list[dict[str, Any]]:
    output = translate([body], speaks=speaks, answers=NAME, protocol_options={NAME: options})
    return [json.loads(line) for line in output.split(b"\n") if line]


def read(body: bytes, **options: str) -> list[dict[str, Any]]:
    return events_of(translate([body], speaks=NAME, protocol_options={NAME: options}))


def text(piece: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text_delta", "content": piece, **fields}


@pytest.mark.parametrize(
    ("path", "endpoint"),
    [
        ("/api/agent/analyst-streaming", "analyst"),
        ("/api/agent/data-agent-streaming", "agent"),
        ("/api/agent/data-loading-chat?x=1", "loading"),
        ("/api/agent/generate-report-chat/", "report"),
        ("/api/agent/get-recommendation-questions", "questions"),
        ("/api/agent/sort-data", None),
    ],
)
def test_path_decides_the_form_of_the_endpoint(path: str, endpoint: str | None) -> None:
    assert DataFormulatorDecoder.options_for(path).get("endpoint") == endpoint


@pytest.mark.parametrize(
    ("endpoint", "reason", "warnings"),
    [
        ("auto", "done", ["END_UNCONFIRMED"]),
        ("report", "done", []),
        ("loading", "truncated", []),
        ("analyst", "truncated", []),
    ],
)
def test_text_alone_ends_a_stream_where_the_endpoint_ends_so(
    endpoint: str, reason: str, warnings: list[str]
) -> None:
    events = read(lines(text("West "), text("leads.")), endpoint=endpoint)
    assert events[-1]["data"]["reason"] == reason
    assert [event["data"]["message_code"] for event in events if event["type"] == "warning"] == warnings


def test_error_line_of_the_first_releases_is_terminal_and_not_for_users() -> None:
    events = read(b'error: {"content": "unable at /srv/app: password=abc"}\n')
    assert [event["type"] for event in events] == ["session_start", "error", "session_end"]
    assert events[1]["data"]["message"] == "The service reported an error. Please try again."


def test_whole_answer_in_place_of_a_stream_is_kept_and_complete() -> None:
    events = read(b'{"status": "success", "data": {"questions": ["Why?"]}}')
    assert events[1]["data"]["data"] == {"name": "response", "value": {"questions": ["Why?"]}}
    assert events[-1]["data"]["status"] == "completed"


@pytest.mark.parametrize("kind", ["error", "warning", "result", "interact", "completion", "tool_result"])
@pytest.mark.parametrize("value", [None, 1, "x", [], [1], {}, {"a": [1]}, True])
def test_field_of_a_wrong_type_does_not_break_a_stream(kind: str, value: Any) -> None:
    fields = (
        "content",
        "error",
        "message",
        "warning",
        "questions",
        "trajectory",
        "status",
        "tool",
        "actions",
    )
    body = lines({"type": "thinking_text", "content": "Hm."}, {"type": kind, **dict.fromkeys(fields, value)})
    assert "INTERNAL" not in str(read(body))
    assert written(body, speaks=NAME)


@pytest.mark.parametrize(
    "body",
    [
        b'data: {"type":"content","content":"x"}\n\n',
        b'{"type":"tool_result","tool_id":"1","tool_name":"a","result":1}\n',
        b'{"type":"error","message":"x"}\n',
        b'{"type":"thinking","content":"x"}\n',
        b'{"code":0,"data":{"answer":"x"}}\n',
        b'{"error":{"message":"x","type":"invalid_request_error"}}\n',
    ],
)
def test_other_dialects_are_not_claimed(body: bytes) -> None:
    assert process_dialects().to_read(NAME).make_decoder({}).detect(body) < 0.5
    assert detect_dialect(body) != NAME


def test_chat_gets_all_text_once_more_at_the_end() -> None:
    body = standard(
        ("content", {"content": "West "}),
        ("content", {"content": "leads.", "is_complete": True}),
        ("session_end", {"status": "completed"}),
    )
    assert written(body) == [text("West "), text("leads."), {"type": "done", "full_text": "West leads."}]


def test_replacement_is_reported_at_the_end() -> None:
    body = standard(
        ("content", {"content": "East leads."}),
        ("tool_call_start", {"tool_id": "t", "tool_name": "sum", "arguments": {}}),
        ("tool_call_end", {"tool_id": "t", "status": "success", "result": 8}),
        ("content", {"content": "West leads.", "op": "replace", "is_complete": True}),
        ("session_end", {"status": "completed"}),
    )
    messages = written(body)
    assert messages[-1] == {"type": "done", "full_text": "West leads.", "op": "replace"}
    again = [event["data"] for event in read(lines(*messages)) if event["type"] == "content"]
    assert again[-1] == {"content": "West leads.", "is_complete": True, "op": "replace"}


def test_chat_is_not_made_to_drop_a_report() -> None:
    body = standard(
        ("content", {"content": "# Sales", "channel": "report"}),
        ("content", {"content": "Done."}),
        ("session_end", {"status": "completed"}),
    )
    assert written(body) == [
        text("# Sales", channel="report"),
        text("Done."),
        {"type": "done", "full_text": ""},
    ]


def test_agent_run_ends_with_its_answer() -> None:
    body = standard(("content", {"content": "West leads."}), ("session_end", {"status": "completed"}))
    assert written(body, profile="analyst")[-1] == {
        "type": "completion",
        "status": "success",
        "content": {"total_steps": 0, "summary": "West leads."},
    }


@pytest.mark.parametrize(
    ("code", "own"),
    [
        ("UPSTREAM_TRUNCATED", "SERVICE_UNAVAILABLE"),
        ("RATE_LIMITED", "LLM_RATE_LIMIT"),
        ("LLM_TIMEOUT", "LLM_TIMEOUT"),
        ("MY_APP_CODE", "MY_APP_CODE"),
    ],
)
def test_terminal_error_is_the_structured_one_and_the_last_line(code: str, own: str) -> None:
    error = {"error_type": "system", "code": code, "message": "No.", "recoverable": True, "terminal": True}
    messages = written(standard(("content", {"content": "Half"}), ("error", error)))
    assert messages[-1] == {"type": "error", "error": {"code": own, "message": "No.", "retry": True}}


def test_error_that_does_not_end_the_run_is_a_warning_to_the_pages() -> None:
    error = {"error_type": "execution", "code": "SOURCE_FAILED", "message": "One source failed."}
    body = standard(
        ("error", {**error, "recoverable": True, "terminal": False}), ("session_end", {"status": "completed"})
    )
    warning = {"message": "One source failed.", "message_code": "SOURCE_FAILED"}
    assert written(body)[0] == {"type": "warning", "warning": warning}


def test_cancelled_status_is_read_back_from_the_written_one() -> None:
    messages = written(standard(("content", {"content": "Half"}), ("session_end", {"status": "cancelled"})))
    assert messages[-1]["error"]["code"] == "CANCELLED"
    assert read(lines(*messages))[-1]["data"]["status"] == "cancelled"


@pytest.mark.parametrize("kind", ["form", "approval", "tool"])
def test_question_of_any_kind_is_one_that_the_pages_accept(kind: str) -> None:
    asked = {"interaction_id": "i", "kind": kind, "state": "requested", "title": "Go on?"}
    body = standard(("interaction", asked), ("session_end", {"status": "suspended"}))
    last = written(body)[-1]
    assert last["type"] == "clarify"
    (question,) = last["questions"]
    assert question["text"] == "Go on?"
    labels = [option["label"] for option in question.get("options", ())]
    assert labels == (["Approve", "Reject"] if kind == "approval" else [])
    assert (last["trajectory"], last["completed_step_count"]) == ([], 0)


def test_suspension_without_a_question_is_written_with_one() -> None:
    messages = written(standard(("content", {"content": "?"}), ("session_end", {"status": "suspended"})))
    assert messages[-1]["questions"]
    assert read(lines(*messages))[-1]["data"]["status"] == "suspended"


@pytest.mark.parametrize("profile", ["loading", "analyst"])
@pytest.mark.parametrize(
    "result", [{"hits": 2}, {"type": "x"}, {"status": "ok"}, "five", 5, [1], {"actions": 1}, None]
)
def test_calls_come_back_with_ids_arguments_and_results(profile: str, result: Any) -> None:
    start = {"tool_name": "search", "arguments": {"query": "tea", "deep": {"a": 1}}}
    end = {"status": "success", **({} if result is None else {"result": result})}
    body = standard(
        ("tool_call_start", {"tool_id": "a", **start}),
        ("tool_call_start", {"tool_id": "b", **start}),
        ("tool_call_end", {"tool_id": "a", **end}),
        ("tool_call_end", {"tool_id": "b", **end}),
        ("session_end", {"status": "completed"}),
    )
    back = [
        event["data"] for event in read(lines(*written(body, profile=profile))) if "tool" in event["type"]
    ]
    assert [data["tool_id"] for data in back] == ["a", "b", "a", "b"]
    assert back[0]["arguments"] == start["arguments"]
    assert back[2].get("result") == result


def test_table_is_a_preview_in_the_chat_and_a_result_in_an_agent_run() -> None:
    table = {"name": "sales", "columns": ["a", "b"], "rows": [[1, None], [2, 3]]}
    body = standard(
        ("data", {"data_type": "dataframe", "data": table}), ("session_end", {"status": "completed"})
    )
    preview = written(body)[0]["actions"][0]
    assert (preview["type"], preview["columns"], preview["total_rows"]) == ("preview_table", ["a", "b"], 2)
    back = read(lines(*written(body, profile="analyst")))
    assert back[1]["data"]["data"] == table


def test_agent_run_is_read_back_unchanged() -> None:
    result = {
        "status": "ok",
        "chart_id": "chart-1",
        "code": "df",
        "refined_goal": {"title": "Sales", "chart": {"chart_type": "Bar Chart", "encodings": {"x": "a"}}},
        "dialog": [{"role": "system", "content": "(instructions)"}],
        "agent": "AnalystAgent",
        "content": {"rows": [{"a": 1}], "virtual": {"table_name": "d", "row_count": 9}},
    }
    content = {"question": "totals", "result": result}
    handed_over = {"trajectory": [{"role": "user"}], "completed_step_count": 1, "thought": ""}
    run = [
        {"type": "action", "action": "visualize", "display_instruction": "totals", "iteration": 1},
        {"type": "result", "status": "success", "iteration": 1, "content": content},
        {"type": "delegate", "target": "data_loading", "message": "No data.", "iteration": 2, **handed_over},
    ]
    assert written(lines(*run), speaks=NAME, profile="analyst") == run


def test_fields_of_another_dialect_are_not_written() -> None:
    metadata = {"request_id": "r", "timestamp": 1, "sequence": 0, "extra": {"secret_state": 1, "dialog": []}}
    content = {"type": "content", "data": {"content": "Hi."}, "metadata": metadata}
    end = {"type": "session_end", "data": {"status": "completed"}, "metadata": metadata}
    assert written(lines(content, end)) == [text("Hi."), {"type": "done", "full_text": "Hi."}]


def test_answer_too_long_to_be_kept_is_not_repeated() -> None:
    piece = {"content": "x" * (1 << 20)}
    body = standard(*[("content", piece)] * 9, ("session_end", {"status": "completed"}))
    assert written(body)[-1] == {"type": "done", "full_text": ""}


PAUSED = {"iteration": 1, "trajectory": [{"role": "user"}], "completed_step_count": 0}


@pytest.mark.parametrize(
    "asked",
    [
        {"questions": [{"text": "?", "responseType": "free_text", "required": True}], "thought": "(silent)"},
        {
            "questions": [
                {
                    "text": "Load what?",
                    "responseType": "single_choice",
                    "required": True,
                    "options": [{"label": "A", "value": "plan_a"}],
                }
            ],
            "data_operation": {"id": "op_1", "plans": [{"id": "plan_a"}]},
            "thought": "",
        },
        {
            "form": {"kind": "connector", "title": "Connect", "connector": {"source_type": "mysql"}},
            "thought": "",
        },
    ],
)
def test_question_of_the_pages_is_read_back_unchanged(asked: dict[str, Any]) -> None:
    asking = {"type": "interact", **asked, **PAUSED}
    assert written(lines(asking), speaks=NAME) == [asking]


@pytest.mark.parametrize("profile", ["loading", "analyst"])
def test_loaded_data_operation_is_read_back_unchanged(profile: str) -> None:
    result = {"type": "data_operation_result", "operation": {"id": "op_1", "status": "loaded"}}
    assert written(lines(result), speaks=NAME, profile=profile) == [result]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (
            {"code": "data_operation_failed", "message": "No tables could be loaded."},
            "DATA_OPERATION_FAILED",
            "No tables could be loaded.",
        ),
        (None, "DATA_OPERATION_FAILED", "The service reported an error. Please try again."),
        (["?"], "DATA_OPERATION_FAILED", None),
    ],
)
def test_failed_data_operation_is_an_error(error: Any, code: str, message: str | None) -> None:
    operation = {"id": "op_1", "status": "failed", "error": error}
    found = read(lines({"type": "data_operation_result", "operation": operation}))[1]["data"]
    assert (found["code"], found["terminal"]) == (code, True)
    assert message in (None, found["message"])


def test_call_that_is_taken_for_an_action_comes_back_as_one_call() -> None:
    table = {"rows": [{"a": 1}], "virtual": {"table_name": "d", "row_count": 1}}
    run = lines(
        {"type": "tool_start", "tool": "visualize", "purpose": None},
        {"type": "action", "action": "visualize", "iteration": 1, "display_instruction": "totals"},
        {"type": "result", "status": "success", "content": {"question": "", "result": {"content": table}}},
        {"type": "tool_start", "tool": "summary"},
        {"type": "completion", "status": "success", "content": {"summary": "Done."}},
    )
    again = lines(*written(run, speaks=NAME, profile="analyst"))
    for body in (run, again):
        calls = [
            event["data"] for event in read(body) if event["type"] in ("tool_call_start", "tool_call_end")
        ]
        assert [call.get("status", call.get("tool_name")) for call in calls] == [
            "visualize",
            "success",
            "summary",
            "success",
        ]


@pytest.mark.parametrize(
    ("text_of_error", "code"),
    [
        ("Authentication failed — please check your API key", "AUTH_FAILED"),
        ("Rate limit exceeded — please wait and try again", "RATE_LIMITED"),
        ("Input too long — please reduce the data size or prompt length", "CONTEXT_LENGTH_EXCEEDED"),
        ("Model not found — please check the model name", "MODEL_NOT_FOUND"),
        ("Request timed out — please check connectivity and try again", "UPSTREAM_TIMEOUT"),
        ("The model service returned an error — please try again later", "UPSTREAM_ERROR"),
        ("The request was blocked by the content safety filter", "CONTENT_FILTERED"),
        ("Access denied — you do not have permission to use this model", "AUTH_FAILED"),
        ("Invalid request — please check your input and try again", "UPSTREAM_REJECTED"),
        ("Model request failed", "UPSTREAM_ERROR"),
    ],
)
def test_sentence_of_the_server_decides_the_code(text_of_error: str, code: str) -> None:
    error = {"type": "error", "iteration": 1, "message": text_of_error, "message_code": "agent.llmApiError"}
    assert read(lines(error))[1]["data"]["code"] == code


@pytest.mark.parametrize(
    ("messages", "status"),
    [
        ([text("\n\nError calling model: x"), {"type": "done", "full_text": ""}], "error"),
        ([text("West. "), text("Error calling model: x"), {"type": "done", "full_text": "West. "}], "error"),
        ([text("Error "), text("calling model: x"), {"type": "done", "full_text": ""}], "completed"),
        ([{"type": "done", "full_text": "Error calling model: x"}], "error"),
        (
            [
                text("Error "),
                text("calling model: x"),
                {"type": "done", "full_text": "Error calling model: x"},
            ],
            "completed",
        ),
    ],
)
def test_failure_sent_as_text_is_one_piece(messages: list[dict[str, Any]], status: str) -> None:
    assert read(lines(*messages))[-1]["data"]["status"] == status


def test_text_that_quotes_a_failure_is_not_written_as_one() -> None:
    said = "Error calling model: that is what the log says."
    body = standard(("content", {"content": said}), ("session_end", {"status": "completed"}))
    events = read(lines(*written(body)))
    assert "".join(event["data"]["content"] for event in events if event["type"] == "content") == said
    assert events[-1]["data"]["status"] == "completed"


def test_calls_summaries_and_tokens_of_the_document_are_read() -> None:
    lines = (
        {"type": "text_delta", "content": "Made a chart.", "token": "t1"},
        {"type": "tool_call", "tool": "f", "args": {"a": 1}},
        {"type": "tool_result", "tool": "f", "stdout": "ok"},
        {"type": "completion", "status": "success", "content": {"summary": "All done."}},
    )
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    events = events_of(translate([body], speaks="data-formulator"))
    texts = [event["data"] for event in events if event["type"] == "content" and event["data"]["content"]]
    assert [(text["content"], text.get("op")) for text in texts] == [
        ("Made a chart.", None),
        ("All done.", None),
    ]
    (start,) = [event["data"] for event in events if event["type"] == "tool_call_start"]
    assert (start["tool_name"], start["arguments"]) == ("f", {"a": 1})
    assert "t1" not in str(events)
