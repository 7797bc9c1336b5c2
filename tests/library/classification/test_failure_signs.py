"""Recognition of failures by names, states, fields and stack traces in any spelling."""

from __future__ import annotations

import time
from typing import Any

import pytest

from cases import for_each
from streamweir.classification.failure_signs import is_failing_name, reports_failure
from streamweir.classification.stack_traces import is_stack_trace

FIELD_NAMES = """
error errors err errs Error ERROR errorMessage error_message error-message ErrorMessage errmsg
err_msg errMsg error_msg errorDetail error_details errorInfo error_type errorClass error.code
errorText error_string lastError last_error node_error nodeError agent-error exception Exception
exceptions exceptionMessage exception_type exc exc_info excInfo excinfo exc_text exc_type traceback
Traceback tracebacks stack stackTrace stack_trace stacktrace STACKTRACE stack-trace backtrace
callStack failure failureReason failure_reason failed fault faultString faultcode panic crash
rootError innerException original_exception
"""
FIELDS = FIELD_NAMES.split()

FAILURES: list[Any] = [
    *({field: "boom in the cellar"} for field in FIELDS),
    *({"result": {field: "boom in the cellar"}} for field in FIELDS[::5]),
    *({"results": [{"id": 1}, {field: "boom in the cellar"}]} for field in FIELDS[::7]),
    {"error": {"message": "boom"}},
    {"error": True},
    {"errors": ["boom"]},
    {"error_code": 5},
    {"errno": 111},
    {"errorCode": "E_BOOM"},
    {"has_error": True},
    {"isError": True},
    *({key: False} for key in ("ok", "success", "Success", "is_success", "isOk", "succeeded", "successful")),
    {"success": "false"},
    {"ok": 0},
    *({"status": word} for word in ("failed", "FAILED", "Failure", "error", "errored", "ERROR", "exception")),
    *({"state": word} for word in ("crashed", "timeout", "timed_out", "aborted", "TaskFailed")),
    {"status": "Execution failed"},
    {"node_status": "failed"},
    *(
        {key: "failed"}
        for key in ("nodeState", "step-state", "FINAL_STATE", "agentStatus", "exec_status", "状态")
    ),
    *({key: True} for key in ("errored", "aborted", "timed_out", "timedOut", "crashed")),
    {"errored": 1},
    {"exit_code": 1},
    {"exitCode": 137},
    {"returncode": -9},
    {"错误": "boom in the cellar"},
    {"outcome": "failure"},
    {"conclusion": "failure"},
    {"status": "失败"},
    {"type": "error"},
    {"type": "node_error", "text": "boom"},
    {"type": "ValueError", "message": "boom"},
    {"kind": "NodeFailed"},
    {"event": "step.failed"},
    {"name": "on_tool_error"},
    {"result": "error"},
    *({"level": word, "message": "boom"} for word in ("error", "ERROR", "critical", "fatal", "Severe")),
    {"severity": "ERROR"},
    {"levelname": "CRITICAL"},
    {"levelno": 40},
    *({key: 500} for key in ("status", "statusCode", "status_code", "httpStatus", "code", "response_code")),
    {"status": "503"},
    {"code": 429},
    {"response": {"status": 404}},
    {"output": {"ok": False}},
    {"data": {"name": "step", "value": {"payload": {"errorMessage": "boom in the cellar"}}}},
]

NO_FAILURES: list[Any] = [
    None,
    "text",
    5,
    [],
    {},
    [1, "a"],
    {"error": None},
    {"error": ""},
    {"error": "none"},
    {"errors": []},
    {"error": False},
    {"err": 0},
    {"errmsg": "ok"},
    {"exception": None, "traceback": None, "result": "x"},
    {"success": True, "ok": True},
    {"status": "finished"},
    {"status": "ok", "code": 0},
    {"exit_code": 0, "errored": 0, "aborted": False, "nodeState": "done", "错误": None},
    {"order_state": "failed"},
    {"status": 200},
    {"code": 200},
    {"state": "running"},
    {"level": "info", "message": "all is well"},
    {"level": 5},
    {"severity": "warning"},
    {"error_rate": 0.02, "errors_per_minute": 0.5},
    {"error_count": 3, "failed_rows": 2},
    {"error_bars": [0.1, 0.2]},
    {"on_error": "continue"},
    {"ignore_errors": True},
    {"standard_error": 0.3},
    {"trace_id": "0123"},
    {"trace": "0123456789abcdef"},
    {"stack_name": "prod"},
    {"terror": "x"},
    {"mirror": "x", "interrupt": False},
    {"columns": [{"name": "error_code"}, {"name": "stack_trace"}]},
    {"rows": [{"order": 1, "status": "failed"}]},
    {"type": "greeting", "message": "hello"},
    {"summary": "The error rate fell at noon.\nIt rose at (one) again."},
    {"text": "look at the chart, line 3"},
]

TRACES = {
    "python": 'Traceback (most recent call last):\n  File "/srv/a.py", line 3, in run\nValueError: boom',
    "python frame": 'File "/srv/a.py", line 3, in run',
    "java": "java.lang.IllegalStateException: boom\n\tat com.acme.Job.run(Job.java:10)\n\t... 3 more",
    "java in json": "boom\\n\\tat com.acme.Job.run(Job.java:10)",
    "kotlin": "boom\n    at acme.JobKt.run(Job.kt:3)",
    "java cause": "x\nCaused by: java.io.IOException: boom",
    "java thread": 'Exception in thread "main" java.lang.Error',
    "node": "Error: boom\n    at run (/srv/app/job.js:1:2)\n    at node:internal/main:3:4",
    "node without a name": "Error: boom\n    at /srv/app/job.js:1:2",
    "deno": "error: boom\n    at file:///srv/job.ts:1:2",
    "webpack": "boom\n  at async Job.run (webpack-internal:///./src/job.ts:1:2)",
    "firefox": "run@https://example.com/app.js:1:2\nmain@https://example.com/app.js:3:4",
    "go": "panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\t/srv/main.go:3 +0x1d",
    "go in json": "boom\\ngoroutine 17 [running]:",
    "dotnet": "System.Exception: boom\n   at Acme.Job.Run(String name) in C:\\src\\Job.cs:line 3",
    "dotnet without symbols": "System.Exception: boom\n   at Acme.Job.Run(String name)\n   at Acme.Main()",
    "dotnet inner": "x\n   --- End of inner exception stack trace ---",
    "ruby": "app/job.rb:3:in `run': boom (RuntimeError)\n\tfrom app.rb:1:in `<main>'",
    "ruby 3.4": "app/job.rb:3:in 'Job#run': boom",
    "php": "PHP Fatal error:  Uncaught Exception: boom in /srv/x.php:3\nStack trace:\n#0 {main}",
    "php frames": "boom\n#0 /srv/x.php(12): Job->run()\n#1 {main}",
    "rust": "thread 'main' panicked at src/main.rs:4:5:\nboom",
    "rust old": "thread 'main' panicked at 'boom', src/main.rs:4:5",
    "rust backtrace": "boom\nstack backtrace:\n   0: acme::run\n             at ./src/main.rs:4:5",
}


@for_each("value", FAILURES)
def test_report_of_a_failure_is_recognized(value: Any) -> None:
    assert reports_failure(value)
    assert reports_failure([value])


@for_each("value", NO_FAILURES)
def test_report_without_a_failure_is_not_recognized(value: Any) -> None:
    assert not reports_failure(value)


@pytest.mark.parametrize("trace", TRACES.values(), ids=TRACES)
def test_text_with_a_stack_trace_is_recognized(trace: str) -> None:
    assert is_stack_trace(trace)
    assert reports_failure({"a": [{"b": {"c": f"It said:\n{trace}"}}]})


@pytest.mark.parametrize(
    "name",
    [
        "error",
        "nodeError",
        "NODE_ERROR",
        "node-failed",
        "on_err",
        "task.exception",
        "panic",
        "失败",
        "Warning",
    ],
)
def test_name_of_a_failure_is_recognized(name: str) -> None:
    assert is_failing_name(name)


@pytest.mark.parametrize(
    "name", ["merry", "interrupt", "default", "note", "cherry_pick", "berry", "superrun"]
)
def test_name_without_a_failure_is_not_recognized(name: str) -> None:
    assert not is_failing_name(name)


@pytest.mark.parametrize(
    "value",
    [
        {f"key{number}": number for number in range(100_000)},
        [{"error_rate": 0.5}] * 100_000,
        {"text": "at " * 300_000},
        {"text": "\n at a.b(" * 100_000},
        [["\n at a.b(" * 6000] * 150],
        {"text": "panic: " * 100_000},
        ["x"] * 500_000,
        {"error_" * 100_000: 0},
    ],
    ids=lambda value: str(value)[:20],
)
def test_text_of_a_megabyte_is_searched_in_bounded_time(value: Any) -> None:
    start = time.thread_time()
    reports_failure(value)
    assert time.thread_time() - start < 2
