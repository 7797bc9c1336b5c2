"""Compiles the requests of a home-made dialect: the bodies of its clients and of its servers, as trees.

Source: the request contract, section 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from streamweir.codec.dialect import Dialect
from streamweir.codec.mapped.problems import KeyPath
from streamweir.codec.mapped.section import Section
from streamweir.requests.canonical import FIELDS, PARAMETERS, Message, Part, Request
from streamweir.requests.canonical_reader import read_fields
from streamweir.requests.fields import Fields
from streamweir.requests.messages import files_of, last_user_index
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import History, RequestReader, RequestWriter
from streamweir.requests.templates import (
    Report,
    RequestTemplate,
    Tree,
    compile_request,
    compile_tree,
    names_read,
)
from streamweir.requests.written import Written

__all__ = ["HISTORIES", "REQUEST_KEYS", "Sides", "compile_requests"]

REQUEST_KEYS: Final = ("write", "read", "history")
HISTORIES: Final = ("all", "new", "last")

_KEY: Final = "request"
_TAKEN: Final = ("tools", "inputs", "state", "context", "response_format")
"""The parts of a request that count as lost if the tree does not name them."""

Sides = tuple[RequestReader | None, RequestWriter | None]


def compile_requests(section: Section, base: Dialect | None) -> Sides:
    """Return the reader of the clients' requests and the writer of requests; a missing one comes from `base`.

    Args:
        section: the mapping of the dialect.
        base: the dialect that this dialect extends.
    """
    inherited: Sides = (base.request_reader, base.request_writer) if base else (None, None)
    if _KEY not in section:
        return inherited
    own = Section.of(section.values[_KEY], section.at(_KEY), section.report)
    if own is None:
        return inherited
    own.check_keys(REQUEST_KEYS)
    if not {"write", "read"} & own.values.keys():
        own.lacks("needs `write` or `read`")
    history = own.word("history", HISTORIES)
    if history is not None and "write" not in own:
        own.misplaced("history", "needs `write`: it is what that wants of the conversation")
    reader = _reader(own) if "read" in own else inherited[0]
    writer = _writer(own, cast("History", history or "last")) if "write" in own else inherited[1]
    return reader, writer


def _reader(section: Section) -> RequestReader | None:
    tree = Section.of(section.values["read"], section.at("read"), section.report)
    if tree is None:
        return None
    tree.check_keys(FIELDS, "field of a request")
    compiled = compile_tree(tree.values, _report_at(tree.path, section))

    def read(fields: Fields) -> Request:
        return read_fields(Fields(compiled.overlay(fields.value)))

    return RequestReader(read, has_resume="resume" in tree, keeps_extra=False)


def _writer(section: Section, history: History) -> RequestWriter:
    template = compile_request(
        section.values["write"],
        _report_at(section.at("write"), section),
        lambda place, message: section.report.at_key((*section.at("write"), *place), message),
    )
    names = _names_in(template)
    takes = {name for name in _TAKEN if name in names} | ({"files"} if "messages" in names else set())

    def write(outgoing: Outgoing) -> Written:
        if "parameters" in names:
            outgoing.parameters(*PARAMETERS)
        return template.written(_root(outgoing, names, history))

    return RequestWriter(
        write,
        history=history,
        threads="client" if "thread_id" in names else "none",
        takes=frozenset(takes),
        answers="resume" in names,
    )


def _names_in(template: RequestTemplate) -> frozenset[str]:
    """Return the fields of the request that the trees name; all fields if a tree uses the whole request."""
    trees: Iterable[Tree | None] = (
        template.body,
        template.form,
        *template.query.values(),
        *template.headers.values(),
    )
    found = {names[:1] for tree in trees if tree is not None for names in names_read(tree)}
    return frozenset(FIELDS) if () in found else frozenset(name for (name,) in found)


def _root(outgoing: Outgoing, names: frozenset[str], history: History) -> dict[str, Any]:
    """Return the canonical request, with the part of the conversation that the tree uses."""
    root: dict[str, Any] = {
        **outgoing.request,
        "thread_id": outgoing.thread_id,
        "extra": dict(outgoing.extra) or None,
    }
    if history == "last":
        root["messages"] = _last_message(outgoing)
        root["message"] = outgoing.text or None
    elif history == "new":
        root["messages"] = [*outgoing.new_messages]
    if history != "last" and "messages" not in names:
        _lose_conversation(outgoing)
    return {name: value for name, value in root.items() if value is not None}


def _last_message(outgoing: Outgoing) -> list[Message]:
    """Return the user's last message, with the text that will be sent."""
    messages = outgoing.messages
    at = last_user_index(messages)
    files = [] if at is None else files_of(messages[at])
    if not outgoing.text and not files:
        return []
    text: list[Part] = [{"type": "text", "text": outgoing.text}] if outgoing.text else []
    content = [*text, *files] if files else outgoing.text
    base: Mapping[str, Any] = {"role": "user"} if at is None else messages[at]
    return [cast("Message", {**base, "content": content})]


def _lose_conversation(outgoing: Outgoing) -> None:
    roles = [message["role"] for message in outgoing.messages]
    if "system" in roles:
        outgoing.lose("system")
    if len([role for role in roles if role != "system"]) > 1:
        outgoing.lose("history")


def _report_at(path: KeyPath, section: Section) -> Report:
    return lambda place, message: section.report.at_value((*path, *place), message)
