"""What is wrong with the answer of a case, in words."""

from __future__ import annotations

from collections.abc import Iterator

from loopback import Answer
from real_servers import Case
from streams import PLANTED
from streamweir.testing import check_stream


def problems_of(case: Case, answer: Answer) -> Iterator[str]:
    """Everything that is wrong: the protocol, the end, the texts, the calls, secrets that came through."""
    if answer.status != 200 or not answer.is_whole:
        yield f"HTTP {answer.status}, {'whole' if answer.is_whole else 'broken off'}: {answer.body[:300]!r}"
        return
    yield from check_stream(answer.body, headers=dict(answer.headers))
    yield from (f"holds the secret {secret}" for secret in PLANTED if secret.encode() in answer.body)
    end, error = answer.end, answer.error or {}
    if end["status"] != case.status:
        yield f"ended as {end}, {error}; expected: {case.status}"
    if case.codes and error.get("code") not in case.codes:
        yield f"failed as {error.get('code')}; expected: {', '.join(case.codes)}"
    yield from _problems_of_texts(case, answer)
    if case.calls:
        yield from _problems_of_calls(case, answer)


def _problems_of_texts(case: Case, answer: Answer) -> Iterator[str]:
    """Every text is there, once; what was thought stands apart from it."""
    for text in case.texts:
        if (times := answer.text.count(text)) != 1:
            yield f"says {text!r} {times} times: {answer.text!r}"
    if case.reasoning and (thought := _reasoning_of(answer)) != case.reasoning:
        yield f"thought {thought!r}; expected: {case.reasoning!r}"
    if case.reasoning and case.reasoning in answer.text:
        yield "has what was thought in its text"


def _reasoning_of(answer: Answer) -> str:
    return "".join(event["data"]["content"] for event in answer.events if event["type"] == "thinking")


def _problems_of_calls(case: Case, answer: Answer) -> Iterator[str]:
    """Every call ended as it must; those made side by side were open at a time."""
    ends = [event["data"]["status"] for event in answer.events if event["type"] == "tool_call_end"]
    if ends != [*case.calls]:
        yield f"its calls ended as {ends}; expected: {[*case.calls]}"
    kinds = [kind for kind in answer.types if kind in ("tool_call_start", "tool_call_end")]
    if case.is_parallel and kinds[: len(case.calls)] != ["tool_call_start"] * len(case.calls):
        yield f"its calls were not side by side: {kinds}"
