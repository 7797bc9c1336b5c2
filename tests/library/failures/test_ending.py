"""A response ends after each failure as the table of failures says."""

from typing import Any

from cases import for_each
from streamweir.errors import CODES, error_info
from streamweir.failures.ending import Ending, FailureFacts, ending_of


def facts(code: str | None, sent: Any = "nothing", **others: bool) -> FailureFacts:
    error = None if code is None else error_info(code)
    return FailureFacts(error, sent, **{"copies": True, "is_clean": False, **others})


@for_each(
    "given",
    [
        (facts(None, "frames"), "end"),
        (facts(None), "end"),
        (facts("RATE_LIMITED", is_refused=True), "refusal"),
        (facts("UPSTREAM_UNREACHABLE"), "envelope"),
        (facts("UPSTREAM_TIMEOUT"), "envelope"),
        (facts("UPSTREAM_INVALID_RESPONSE", is_clean=True), "envelope"),
        (facts("UPSTREAM_TRUNCATED", is_clean=True), "envelope"),
        (facts("UPSTREAM_TRUNCATED", "heartbeats", is_clean=True), "break"),
        (facts("RATE_LIMITED", "heartbeats", is_refused=True), "break"),
        (facts("UPSTREAM_TRUNCATED", "frames", is_clean=True), "end"),
        (facts("STREAM_LIMIT_EXCEEDED", "frames", is_clean=True), "break"),
        (facts("UPSTREAM_ERROR", "frames", is_clean=True, is_upstreams=True), "end"),
        (facts("UPSTREAM_ERROR", "frames", is_upstreams=True), "break"),
        *((facts(code, "frames"), "break") for code in CODES),
        *((facts(code, "heartbeats", is_resumable=True), "end") for code in CODES),
        (facts("UPSTREAM_TRUNCATED", "frames", is_resumable=True), "end"),
        (facts("RATE_LIMITED", is_refused=True, is_resumable=True), "refusal"),
        (facts("UPSTREAM_UNREACHABLE", is_resumable=True), "envelope"),
    ],
)
def test_ending_of_each_case_follows_the_mode(given: tuple[FailureFacts, Ending]) -> None:
    case, expected = given
    assert ending_of(case, "as_they_came") is expected
    assert ending_of(case, "told") == "end"
    assert ending_of(case._replace(copies=False), "as_they_came") == "end"
