"""Compiles `write:` of a dialect to an encoder.

Source: the dialect-file contract, sections 6 and 7.
"""

from __future__ import annotations

import re
from typing import Any, Final

from streamweir.codec.base import Encoder
from streamweir.codec.mapped.options import DialectOptions
from streamweir.codec.mapped.reachability import unreachable
from streamweir.codec.mapped.reading import remembered_names
from streamweir.codec.mapped.remember import MAX_NAMES
from streamweir.codec.mapped.section import Section
from streamweir.codec.mapped.write_rules import WriteRule, compile_write_rules, rules_by_type
from streamweir.codec.mapped.write_scope import WRITE_NAMES
from streamweir.codec.mapped.writer import MappedEncoder, WritingRules
from streamweir.expressions import Vocabulary

__all__ = ["WRITE_FRAMINGS", "WRITE_KEYS", "compile_encoder"]

WRITE_KEYS: Final = ("framing", "media_type", "data_prefix", "heartbeat", "replaces", "rules")
WRITE_FRAMINGS: Final = ("sse", "ndjson", "lines")
_PREFIXES: Final = ("data: ", "data:")
_MEDIA_TYPE: Final = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+ *(?:;[ -~]*)?", re.ASCII)
_SWITCH: Final = ("on", "off")


def compile_encoder(
    section: Section, options: DialectOptions, base: type[Encoder] | None, *, extends: bool
) -> type[Encoder] | None:
    """Return the encoder with the dialect's rules, else the encoder of its base; None if it is not written.

    Args:
        section: the mapping of the dialect.
        options: the options of the dialect.
        base: the encoder for events that no rule takes.
        extends: whether the dialect extends another one; `base` is None if that one cannot be used.
    """
    if "write" not in section:
        return base
    write = Section.of(section.values["write"], section.at("write"), section.report)
    if write is None:
        return None
    write.check_keys(WRITE_KEYS)
    if "rules" not in write and not extends:
        write.lacks("needs `rules`")
    remembered = remembered_names(write.values.get("rules"))
    if len(remembered) > MAX_NAMES:
        write.wrong("rules", f"a dialect may remember {MAX_NAMES} values, not {len(remembered)}")
    allowed = options.texts(base.option_values if base else {})
    names = Vocabulary(WRITE_NAMES, {"_options": allowed, "_state": remembered})
    rules = compile_write_rules(write, names)
    for place, first in unreachable(rules, WriteRule.takes_all_of):
        path = (*write.at("rules"), rules[place].place)
        write.report.at_key(path, f"is never reached: rules[{rules[first].place}] takes all of it")
    return _encoder(section, write, rules, options, base)


def _encoder(
    section: Section,
    write: Section,
    rules: list[WriteRule],
    options: DialectOptions,
    base: type[Encoder] | None,
) -> type[Encoder]:
    inherited: type[Encoder] = base or Encoder
    replaces = write.flag("replaces")
    writing = WritingRules(
        rules_by_type(rules),
        base,
        options.seen(inherited.option_values),
        keeps_answer=any("_answer" in rule.names for rule in rules),
        replaces=replaces,
    )
    prefix = write.values.get("data_prefix")
    if prefix is not None and prefix not in _PREFIXES:
        write.wrong("data_prefix", 'must be "data: " or "data:"', prefix)
        prefix = None
    heartbeats = _switch(write, "heartbeat")
    attributes: dict[str, Any] = {
        "writing": writing,
        "framings": _framings(section, write, base),
        "replaces": inherited.replaces if replaces is None else replaces,
        "sse_prefix": inherited.sse_prefix if prefix is None else prefix.encode(),
        "heartbeats": inherited.heartbeats if heartbeats is None else heartbeats,
        "media_type": _media_type(write) or inherited.media_type,
        "option_values": options.texts(inherited.option_values),
    }
    return type("MappedEncoder", (MappedEncoder,), attributes)


def _media_type(write: Section) -> str | None:
    """Return the media type, which is sent as a header; None if the key is absent or its value is wrong."""
    value = write.text("media_type")
    if value is None or _MEDIA_TYPE.fullmatch(value):
        return value
    write.wrong("media_type", "must be a media type such as text/plain; charset=utf-8", value)
    return None


def _framings(section: Section, write: Section, base: type[Encoder] | None) -> tuple[str, ...]:
    if "framing" in write:
        names = write.texts("framing")
        for index, name in enumerate(names):
            if name not in WRITE_FRAMINGS:
                path = write.at("framing")
                path = path if isinstance(write.values["framing"], str) else (*path, index)
                write.report.at_value(path, f"must be one of {', '.join(WRITE_FRAMINGS)}", f", not {name!r}")
        return tuple(dict.fromkeys(name for name in names if name in WRITE_FRAMINGS)) or ("sse",)
    if base is not None:
        return base.framings
    own = section.values.get("framing")
    return (own,) if isinstance(own, str) and own in WRITE_FRAMINGS else ("sse",)


def _switch(section: Section, key: str) -> bool | None:
    """Return whether a key is on: YAML 1.1 reads `on` and `off` as true and false."""
    value = section.values.get(key)
    if isinstance(value, bool):
        return value
    word = section.word(key, _SWITCH)
    return None if word is None else word == "on"
