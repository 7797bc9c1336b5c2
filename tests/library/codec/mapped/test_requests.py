"""Requests of home-made dialects: what is written and read by trees, and handed down."""

from collections.abc import Mapping
from typing import Any

import pytest

from streamweir import RequestError, load_dialect, read_request, write_request
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects

RULES: dict[str, Any] = {"rules": [{"emit": {"type": "content", "content": "${{ t }}"}}], "terminal": ["eof"]}
WRITE = {
    "q": "${{ message }}",
    "s": "${{ thread_id }}",
    "pictures": "${{ messages[-1].content[?type=='image'].url }}",
}
READ = {
    "messages": "${{ history[].{role: who, content: said} }}",
    "message": "${{ q }}",
    "thread_id": "${{ s }}",
}
TURNS = [
    {"role": "system", "content": "be kind"},
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "yes?"},
    {"role": "user", "content": "more"},
]
INLINE = "<conversation>\nsystem: be kind\nuser: hi\nassistant: yes?\n</conversation>\n\nmore"


def dialect(request: Mapping[str, Any], **others: Any) -> Dialect:
    tree = {**RULES, **others, "request": request}
    return Dialect.of_class("acme", load_dialect(tree, name="acme"))


def body(request: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    (written,) = write_request(given, dialect=dialect(request))
    return written["body"]


def test_write_tree_is_the_body() -> None:
    assert body({"write": WRITE}, {"message": "hi", "thread_id": "t"}) == {"q": "hi", "s": "t"}
    picture = {"message": "hi", "files": ["https://a.example/b.png"]}
    assert body({"write": WRITE}, {"message": "hi", "messages": [], **picture})["pictures"] == [
        "https://a.example/b.png"
    ]


HISTORIES: list[tuple[str, dict[str, Any], Any]] = [
    ("last", {}, [INLINE, [INLINE]]),
    ("last", {"thread_id": "t"}, ["more", ["more"]]),
    ("all", {"thread_id": "t"}, ["more", ["be kind", "hi", "yes?", "more"]]),
    ("new", {}, ["more", ["be kind", "hi", "yes?", "more"]]),
    ("new", {"thread_id": "t"}, ["more", ["more"]]),
]


@pytest.mark.parametrize(("history", "given", "expected"), HISTORIES)
def test_history_selects_the_messages_of_the_tree(history: str, given: dict[str, Any], expected: Any) -> None:
    write = {"m": "${{ message }}", "all": "${{ messages[].content }}", "t": "${{ thread_id }}"}
    found = body({"write": write, "history": history}, {"messages": TURNS, **given})
    assert [found["m"], found["all"]] == expected


def test_tree_without_thread_id_gets_the_whole_conversation() -> None:
    assert body({"write": {"m": "${{ message }}"}}, {"messages": TURNS, "thread_id": "t"})["m"] == INLINE


def test_write_long_form_sets_query_and_headers() -> None:
    write = {
        "body": {"q": "${{ message }}"},
        "query": {"u": "${{ user }}"},
        "headers": {"X-Run": "${{ run_id }}"},
    }
    (written,) = write_request(
        {"message": "hi", "user": "me", "run_id": "r"}, dialect=dialect({"write": write})
    )
    assert (written["query"], written["headers"]["X-Run"]) == ({"u": "me"}, "r")
    with pytest.raises(RequestError):
        write_request({"message": "hi", "run_id": "r\r\nHost: a"}, dialect=dialect({"write": write}))


def test_read_tree_reads_a_clients_body() -> None:
    found = read_request(
        {"q": "hi", "s": "t", "history": [{"who": "assistant", "said": "yes?"}], "extra": {"a": 1}},
        protocol=dialect({"read": READ}),
    )
    assert found == {
        "messages": [{"role": "assistant", "content": "yes?"}, {"role": "user", "content": "hi"}],
        "message": "hi",
        "thread_id": "t",
    }


def test_read_tree_result_is_checked_as_a_request() -> None:
    with pytest.raises(RequestError) as raised:
        read_request({"q": "hi", "history": [{"who": "x", "said": "y"}]}, protocol=dialect({"read": READ}))
    assert raised.value.field == "messages[0].role"


def test_answer_needs_a_tree_with_resume() -> None:
    given = {"resume": [{"interaction_id": "i", "action": "submit", "value": 1}]}
    assert body({"write": {"a": "${{ resume[0].value }}"}}, given) == {"a": 1}
    with pytest.raises(RequestError) as raised:
        body({"write": WRITE}, given)
    assert raised.value.field == "resume"


def test_requests_are_inherited_by_extends() -> None:
    known = Dialects.built_in()
    legacy = Dialect.of_class("a", load_dialect({"extends": "legacy"}, name="a"))
    assert legacy.request_writer is known["legacy"].request_writer
    own = Dialect.of_class("a", load_dialect({"extends": "legacy", "request": {"write": {"q": 1}}}, name="a"))
    assert own.request_writer is not known["legacy"].request_writer
    assert own.request_reader is known["legacy"].request_reader
    assert not Dialect.of_class("a", load_dialect(RULES, name="a")).writes_requests
