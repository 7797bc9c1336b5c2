"""Compiles the keys for reading of a dialect to a decoder.

Source: the dialect-file contract, sections 2, 3, 7 and 9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from streamweir.codec.base import Decoder
from streamweir.codec.mapped.options import DialectOptions
from streamweir.codec.mapped.reachability import unreachable
from streamweir.codec.mapped.read_scope import READ_NAMES
from streamweir.codec.mapped.reader import MappedDecoder, ReadingRules, TextBodyDecoder
from streamweir.codec.mapped.remember import MAX_NAMES
from streamweir.codec.mapped.rules import Rule, RuleTable, compile_rules
from streamweir.codec.mapped.section import Section
from streamweir.codec.mapped.text_paths import text_fields
from streamweir.codec.mapped.words import compile_words
from streamweir.codec.message_template import TextFields
from streamweir.expressions import Path, Vocabulary

__all__ = ["FRAMINGS", "compile_decoder", "remembered_names"]

FRAMINGS: Final = ("sse", "ndjson", "lines", "text", "auto")
_DATA: Final = ("json", "text")
_PLAIN: Final = frozenset({"lines", "text"})


def compile_decoder(
    section: Section, options: DialectOptions, base: type[Decoder] | None, *, extends: bool
) -> type[Decoder] | None:
    """Return the decoder of the dialect; None if it is only written, or has too many faults to be read.

    Args:
        section: the mapping of the dialect.
        options: the options of the dialect.
        base: the decoder for frames that no rule takes.
        extends: whether the dialect extends another one; `base` is None if that one cannot be used.
    """
    framing = section.word("framing", FRAMINGS) or (base.framing if base else "auto")
    data = section.word("data", _DATA) or ("text" if framing in _PLAIN else "json")
    if framing == "text":
        return _text_body(section)
    allowed = options.texts(base.option_values if base else {})
    names = Vocabulary(READ_NAMES, {"_options": allowed, "_state": _remembered(section)})
    rules = compile_rules(section, names, is_text_only=data == "text", has_base=extends)
    ignore, terminal = compile_words(section, "ignore"), compile_words(section, "terminal")
    unwrap = section.expression("unwrap", names)
    for_users = section.flag("errors_for_users")
    if base is None and "rules" not in section:
        return None
    _check(section, rules, has_end=extends or bool(section.values.get("terminal")))
    unwrap, base = unwrap or MappedDecoder.own_unwrap(base), MappedDecoder.unwrapped(base)
    reading = ReadingRules(
        RuleTable(rules),
        ignore,
        terminal,
        unwrap=unwrap,
        is_text=data == "text",
        is_lines=framing == "lines",
        base=base,
        options=options.seen(base.option_values if base else {}),
        collects_arguments=_emits(rules, "tool_call_delta"),
        marks_messages=any(rule.emission is not None and rule.emission.completes_messages for rule in rules),
    )
    inherited = base is not None and base.errors_for_users
    attributes = {
        "reading": reading,
        "framing": framing,
        "errors_for_users": inherited if for_users is None else for_users,
        "option_values": allowed,
        "text_fields": _text_fields(rules, reading),
    }
    return type("MappedDecoder", (MappedDecoder,), attributes)


def _text_fields(rules: list[Rule], reading: ReadingRules) -> TextFields | None:
    """Return the places of the texts in the messages; None if the messages are no JSON."""
    if reading.is_text:
        return None
    root: Path | None = () if reading.unwrap is None else reading.unwrap.path
    base = reading.base.text_fields if reading.base else None
    return text_fields(rules, (reading.ignore, reading.terminal), root, base)


def remembered_names(rules: Any) -> frozenset[str]:
    """Return the names of the values that rules remember, including the rules that have errors."""
    written = [rule for rule in rules if isinstance(rule, Mapping)] if isinstance(rules, list) else []
    found = [rule.get("remember") for rule in written]
    return frozenset(name for values in found if isinstance(values, Mapping) for name in values)


def _remembered(section: Section) -> frozenset[str]:
    names = remembered_names(section.values.get("rules"))
    if len(names) > MAX_NAMES:
        section.wrong("rules", f"a dialect may remember {MAX_NAMES} values, not {len(names)}")
    return names


def _text_body(section: Section) -> type[Decoder]:
    if "rules" in section:
        section.misplaced("rules", "`framing: text` has no rules: the body is the answer itself")
    if section.values.get("data") == "json":
        section.wrong("data", "must be text where the framing is text", "json")
    for_users = bool(section.flag("errors_for_users"))
    return type("TextBodyDecoder", (TextBodyDecoder,), {"errors_for_users": for_users})


def _check(section: Section, rules: list[Rule], *, has_end: bool) -> None:
    """Report rules that are never reached and a missing end, unless another reported problem is the cause."""
    for place, first in unreachable(rules, _takes_all_of):
        path = (*section.at("rules"), rules[place].place)
        section.report.at_key(path, f"is never reached: {rules[first].label} takes all of it")
    if not has_end and all(rule.is_sound and not rule.may_end for rule in rules):
        section.report.at_key(
            section.path,
            "has no end: no rule emits session_end, error, complete or interaction, and there is no"
            " `terminal` (a backend that never says its end: `terminal: [eof]`)",
        )


def _takes_all_of(first: Rule, later: Rule) -> bool:
    return first.is_sound and later.is_sound and first.conditions.takes_all_of(later.conditions)


def _emits(rules: Iterable[Rule], name: str) -> bool:
    return any(rule.emission is not None and name in rule.emission.types for rule in rules)
