"""Finds the places of plain text in the messages of a home-made dialect from its rules.

A message that differs from the last one only in its text is read by a template (`message_template`), if no
condition and no expression other than the plain text itself reads that text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from streamweir.codec.mapped.paths import concerns_any
from streamweir.codec.mapped.rules import Rule
from streamweir.codec.mapped.words import Words
from streamweir.codec.message_template import TextFields
from streamweir.expressions import Path, Reads
from streamweir.expressions.reads import all_reads

__all__ = ["text_fields"]

_CHANGING: Final = (
    *("timestamp", "created_at", "created", "createdAt", "time", "ts", "date"),
    *("sequence", "seq", "sequence_number", "index", "offset", "id", "event_id", "eventId", "uuid"),
)
"""The fields that usually change from message to message. If no rule reads them, a change means nothing."""

_CONTAINERS: Final[tuple[Path, ...]] = ((), ("metadata",), ("meta",))


def text_fields(
    rules: Iterable[Rule], words: Iterable[Words], unwrap: Path | None, base: TextFields | None
) -> TextFields | None:
    """Return the places of the texts; None if the places are not certain.

    Args:
        rules: all rules that read.
        words: frames that are ignored, and frames that are evidence of the end.
        unwrap: the place in the message of the value that the rules see; None: not a plain place.
        base: the places of text in the dialect that reads the frames that no rule takes.
    """
    if unwrap is None:
        return None
    rules = [*rules]
    texts = _texts(rules, base)
    deciding = all_reads([*(rule.conditions.reads for rule in rules), *(Reads(each.reads) for each in words)])
    speaking = [rule for rule in rules if rule.may_emit_text]
    emitted = all_reads(rule.effect_reads | _read_for_base(rule, base) for rule in speaking)
    read = deciding.values | emitted.values
    safe = tuple(unwrap + path for path in texts if path and not concerns_any(path, read))
    if not safe:
        return None
    everywhere = all_reads([deciding, emitted, *(rule.effect_reads for rule in rules)])
    seen = {*everywhere.values, *everywhere.kinds, *texts}
    return TextFields(safe, _unread(seen, unwrap, base), grows=base is None or base.grows)


def _texts(rules: list[Rule], base: TextFields | None) -> dict[Path, None]:
    found: dict[Path, None] = {}
    for rule in rules:
        found |= dict.fromkeys(rule.emission.texts if rule.emission else ())
        found |= dict.fromkeys(_handed_on(rule, base))
    return found | dict.fromkeys(base.texts if base else ())


def _handed_on(rule: Rule, base: TextFields | None) -> Iterator[Path]:
    """Yield the texts that a rule gives to the base at places that the base declares as text."""
    for place, leaf in rule.message.leaves.items() if rule.message and base else ():
        for text in base.texts if base else ():
            if leaf.path is not None and text[: len(place)] == place:
                yield leaf.path + text[len(place) :]


def _read_for_base(rule: Rule, base: TextFields | None) -> Reads:
    """Return the places that a rule reads for the base's message, except places of plain texts."""
    if rule.message is None:
        return Reads()
    plain = [
        leaf
        for place, leaf in rule.message.leaves.items()
        if base and leaf.path is not None and any(text[: len(place)] == place for text in base.texts)
    ]
    others = (found for found in rule.message.expressions if not any(found is leaf for leaf in plain))
    return all_reads(found.reads for found in others)


def _unread(seen: Iterable[Path], unwrap: Path, base: TextFields | None) -> tuple[Path, ...]:
    """Return the places of numbers and times that no rule reads, in the message and around it."""
    own = [(*container, name) for container in _CONTAINERS for name in _CHANGING]
    inside = [path for path in (own if base is None else base.ignored) if not concerns_any(path, seen)]
    envelope = [(*unwrap[:length], name) for length in range(len(unwrap)) for name in _CHANGING]
    around = [path for path in envelope if path != unwrap[: len(path)]]
    return tuple(dict.fromkeys([*(unwrap + path for path in inside), *around]))
