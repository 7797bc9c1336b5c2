"""The closed list of codes is that of the protocol, section 5; the reasons are those of section 6."""

import ast
import re
from string import Formatter
from typing import Any, get_args

import pytest

from source_tree import MODULES
from streamweir.errors import CODES, TOOL_CODES, WARNINGS, ErrorCode, ErrorType, Reason, error_info
from streamweir.own_warnings import own_warning
from streamweir.refusal_codes import REFUSALS
from streamweir.testing.stream import _END_REASONS, _ERROR_REASONS

TABLE = """
UPSTREAM_UNREACHABLE       system      true   502  upstream_unreachable
UPSTREAM_TIMEOUT           timeout     true   504  upstream_error
UPSTREAM_TRUNCATED         system      true   502  truncated
UPSTREAM_INVALID_RESPONSE  system      false  502  malformed
UPSTREAM_ERROR             execution   true   502  upstream_error
UPSTREAM_REJECTED          validation  false  400  upstream_error
RATE_LIMITED               execution   true   429  upstream_error
AUTH_FAILED                system      false  502  upstream_error
NOT_FOUND                  validation  false  502  upstream_error
MODEL_NOT_FOUND            execution   false  404  upstream_error
CONTEXT_LENGTH_EXCEEDED    validation  false  400  upstream_error
CONTENT_FILTERED           execution   false  400  upstream_error
QUOTA_EXCEEDED             execution   false  402  upstream_error
STREAM_LIMIT_EXCEEDED      system      false  502  limit
CANCELLED                  execution   true   502  cancelled
GATEWAY_DRAINING           system      true   503  draining
RUN_LOST                   system      true   502  lost
STORE_UNAVAILABLE          system      true   503  lost
INTERNAL                   system      true   500  internal
"""

REASONS = """
done interaction upstream_error upstream_unreachable truncated connect_timeout first_event_timeout
idle_timeout total_timeout malformed limit cancelled client_gone slow_client draining lost internal
"""


def test_every_code_has_the_row_of_the_protocol() -> None:
    rows = {
        code: f"{row.error_type} {str(row.recoverable).lower()} {row.status} {row.reason}"
        for code, row in CODES.items()
    }
    assert rows == {line.split()[0]: " ".join(line.split()[1:]) for line in TABLE.strip().splitlines()}


def test_vocabulary_of_reasons_is_closed() -> None:
    assert list(get_args(Reason)) == REASONS.split()
    assert set(get_args(ErrorType)) == {"validation", "execution", "timeout", "system"}


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_one_fixed_message_for_users(code: str) -> None:
    message = CODES[code].message
    assert re.fullmatch(r"[A-Z][a-z ]+\.( Please [a-z ]+\.)?", message)
    assert [other for other in CODES if CODES[other].message == message] == [code]


@pytest.mark.parametrize("code", CODES)
def test_conformance_kit_expects_the_same_reasons(code: str) -> None:
    if code != "CANCELLED":
        assert error_info(code).reason in _ERROR_REASONS.get(code, {"upstream_error"})


def test_every_reason_can_be_checked() -> None:
    known = set().union({"upstream_error"}, *_ERROR_REASONS.values(), *_END_REASONS.values())
    assert known == set(get_args(Reason))


def test_error_with_a_more_exact_reason_keeps_it() -> None:
    info = error_info("UPSTREAM_TIMEOUT", reason="idle_timeout", retry_after_ms=5)
    assert (info.reason, info.retry_after_ms, info.status) == ("idle_timeout", 5, 504)
    with pytest.raises(KeyError):
        error_info("NO_SUCH_CODE")


STAND_INS = {"streamweir.codec.event_examples", "streamweir_gateway.fake.run"}
"""Modules that speak as an upstream would, with codes that are an upstream's."""


def warning_codes_in(module: str) -> set[str]:
    """The codes that the module spells for a warning of its own."""
    if not re.search("[wW]arn|message_code", MODULES[module].read_text()):
        return set()  # it calls nothing of the kind
    calls = (node for node in ast.walk(tree_of(module)) if isinstance(node, ast.Call))
    spelt = (code for call in calls for code in codes_of_call(call))
    return {node.value for node in spelt if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def codes_of_call(call: ast.Call) -> list[ast.expr]:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    place = {"own_warning": 0, "Warning": 1, "warn": 1}.get(name)
    found = [keyword.value for keyword in call.keywords if keyword.arg == "message_code"]
    return found if place is None else [*found, *call.args[place : place + 1]]


def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text())


def test_warning_code_that_is_not_in_the_table_is_refused() -> None:
    found = {module: warning_codes_in(module) - WARNINGS.keys() for module in MODULES}
    assert {module: codes for module, codes in found.items() if codes and module not in STAND_INS} == {}
    assert all(found[module] for module in STAND_INS)


def test_every_warning_code_of_the_table_is_sent_by_some_module() -> None:
    spelt = {
        node.value
        for module in MODULES.keys() - {"streamweir.errors"}
        if any(code in MODULES[module].read_text() for code in WARNINGS)
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert spelt >= WARNINGS.keys()


@pytest.mark.parametrize("code", WARNINGS)
def test_own_warning_fills_in_every_name_of_the_sentence(code: str) -> None:
    names = [name for _, name, _, _ in Formatter().parse(WARNINGS[code].message) if name]
    parts: dict[str, Any] = dict.fromkeys(names, "value")
    warning = own_warning(code, **parts)
    assert warning.message_code == code
    assert re.fullmatch(r"[A-Z][a-z ;:']+( value)?\.", warning.message)
    assert warning.for_users


def test_own_warning_of_an_unknown_code_raises() -> None:
    with pytest.raises(KeyError):
        own_warning("NOT_IN_THE_TABLE")


def test_error_code_lists_every_code_of_an_error_and_of_a_refusal() -> None:
    made_elsewhere = {"LOOP_DETECTED"}
    assert set(get_args(ErrorCode)) == {*CODES, *TOOL_CODES, *REFUSALS, *made_elsewhere}
    assert len(set(get_args(ErrorCode))) == len(get_args(ErrorCode))
