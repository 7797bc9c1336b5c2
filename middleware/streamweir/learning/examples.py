"""Makes the examples of a learned dialect: shortened, redacted messages and the events of their rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from streamweir.codec.mapped.dialect import MappedDialect
from streamweir.codec.mapped.flat_events import shown
from streamweir.framing import Frame
from streamweir.jsontext import write_json, write_json_text
from streamweir.learning.observed_frames import NO_JSON, Observed
from streamweir.learning.places import parsed
from streamweir.learning.trial import decoded
from streamweir.redaction import REDACTED, is_secret_name, redact

__all__ = ["example_of", "examples_of", "shortened"]

MAX_TEXT: Final = 40
MAX_ITEMS: Final = 3
MAX_PER_RULE: Final = 2


def examples_of(found: MappedDialect, observed: Iterable[Observed], *, rules: int) -> list[dict[str, Any]]:
    """Return at most two examples for each rule, from different frames, in the order of the rules.

    Args:
        found: the dialect.
        observed: the frames.
        rules: the number of rules that get examples; later rules are about frames that were not understood.
    """
    labels = {f"rules[{number}]" for number in range(rules)}
    examples: dict[str, list[dict[str, Any]]] = {}
    seen: set[bytes] = set()
    for one in observed:
        outcome = decoded(found, one.frame)
        if outcome is None or outcome[0] not in labels:
            continue
        own = examples.setdefault(outcome[0], [])
        if len(own) < MAX_PER_RULE:
            example = _example(found, one, outcome[0])
            key = write_json(example)
            if example is not None and key not in seen:
                seen.add(key)
                own.append(example)
    order = sorted(examples, key=lambda label: int(label[len("rules[") : -1]))
    return [example for label in order for example in examples[label]]


def _example(found: MappedDialect, one: Observed, taker: str) -> dict[str, Any] | None:
    """Return a message and its events; None if another rule takes the shortened message."""
    is_tree = isinstance(one.message, dict | list)
    message = shortened(one.message) if is_tree else _short_text(one)
    return example_of(found, message, one.frame.event, taker)


def example_of(
    found: MappedDialect, message: Any, event: str | None, taker: str | None = None
) -> dict[str, Any] | None:
    """Return the example of a message; None if it cannot be read or `taker` does not take it."""
    data = message.encode() if isinstance(message, str) else write_json(message)
    outcome = decoded(found, Frame(data, event))
    if outcome is None or taker not in (None, outcome[0]):
        return None
    name = {} if event is None else {"event": event}
    return {"in": message, **name, "out": [shown(one) for one in outcome[1]]}


def _short_text(one: Observed) -> str:
    if one.message is NO_JSON:
        return _without_references(_short(one.text))
    return write_json_text(shortened(one.message))


def shortened(value: Any, name: str = "") -> Any:
    """Return a copy of a message: texts redacted and cut, long lists cut, secrets by their names left out."""
    if isinstance(value, dict):
        present = ((key, inner) for key, inner in value.items() if inner is not None)
        return {_without_references(key): shortened(inner, key) for key, inner in present}
    if isinstance(value, list):
        return [shortened(inner, name) for inner in value[:MAX_ITEMS]]
    if not isinstance(value, str):
        return value
    inner = parsed(value)
    if inner is not None:
        return write_json_text(shortened(inner))
    if value and is_secret_name(name) and not (name.lower().endswith("token") and _may_be_piece(value)):
        return REDACTED
    return _without_references(_short(value))


def _may_be_piece(token: str) -> bool:
    """Return whether a `token` may be a piece of text, as opposed to a credential."""
    return len(token) < MAX_TEXT // 5 or " " in token or token.isalpha()


def _short(text: str) -> str:
    clean = redact(text, limit=MAX_TEXT)
    return text if clean == text.strip() and len(text) <= MAX_TEXT else clean


def _without_references(text: str) -> str:
    """Return `text` without `${`, which a configuration file would replace by an environment variable."""
    return text.replace("${", "$ {")
