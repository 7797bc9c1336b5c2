"""Compiles all dialects of a configuration from YAML together, because they may extend each other.

Source: the dialect-file contract.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from streamweir.codec.base import Decoder, Encoder
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.codec.mapped.examples import Example, compile_examples
from streamweir.codec.mapped.options import compile_options
from streamweir.codec.mapped.problems import CountingReport, KeyPath, ProblemReport, suggestion
from streamweir.codec.mapped.reading import compile_decoder
from streamweir.codec.mapped.requests import Sides, compile_requests
from streamweir.codec.mapped.section import Section
from streamweir.codec.mapped.writing import compile_encoder
from streamweir.errors import ConfigurationError

__all__ = ["DIALECT_KEYS", "DialectSource", "MappedDialect", "compile_dialects"]

DIALECT_KEYS: Final = (
    *("extends", "framing", "data", "unwrap", "rules", "ignore", "terminal", "errors_for_users"),
    *("options", "write", "request", "examples"),
)
_SUBSTANCE: Final = ("rules", "write", "extends")
"""The keys of which a dialect has at least one, unless its body is text."""

MAX_DEPTH: Final = 8
"""The most dialects in a chain of `extends`."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_RESERVED: Final = "auto"
_OWN: Final = __name__.rpartition(".")[0]
"""The package whose classes are made anew for each dialect."""


class DialectSource(NamedTuple):
    """A dialect before it is compiled.

    Attributes:
        name: the name of the dialect.
        value: the mapping in the YAML file.
        report: called with each problem.
        path: the path of the mapping, for the report.
        folder: the folder of the files that its examples name.
    """

    name: str
    value: Any
    report: ProblemReport
    path: KeyPath = ()
    folder: Path = Path()


class MappedDialect(NamedTuple):
    """A compiled dialect, with its examples and its source.

    Attributes:
        dialect: the dialect, which reads and writes streams.
        examples: the examples, which are not run yet.
        source: the dialect before it was compiled.
        is_sound: whether the dialect has no problem.
    """

    dialect: Dialect
    examples: list[Example]
    source: DialectSource
    is_sound: bool


def compile_dialects(sources: Iterable[DialectSource], known: Dialects) -> list[MappedDialect]:
    """Return the dialects of one configuration, ordered so that a dialect follows the one that it extends;
    problems are reported.

    Args:
        sources: the dialects; each name occurs once.
        known: the built-in and installed dialects.
    """
    return _Compiler({source.name: source for source in sources}, known).compile_all()


def check_name(source: DialectSource, known: Dialects) -> None:
    """Report a name that is not allowed for a dialect."""
    if source.name == _RESERVED:
        source.report.at_key(source.path, "`auto` cannot be the name of a dialect: it finds one out")
    elif not _NAME.fullmatch(source.name):
        source.report.at_key(
            source.path,
            "cannot be the name of a dialect: 1 to 64 letters, digits, `.`, `_`, `-`,"
            " a letter or digit first",
        )
    elif known.has_name(source.name):
        source.report.at_key(source.path, f"there is a dialect {source.name!r} already; take another name")


class _Compiler:
    def __init__(self, sources: dict[str, DialectSource], known: Dialects) -> None:
        self._sources = sources
        self._known = known
        self._compiled: dict[str, MappedDialect] = {}

    def compile_all(self) -> list[MappedDialect]:
        for name in self._sources:
            self._compile(name)
        return [*self._compiled.values()]

    def _compile(self, name: str) -> MappedDialect | None:
        if name not in self._compiled:
            compiled = self._compile_one(self._sources[name])
            if compiled is not None:
                self._compiled[name] = compiled
        return self._compiled.get(name)

    def _compile_one(self, source: DialectSource) -> MappedDialect | None:
        report = CountingReport(source.report)
        section = Section.of(source.value, source.path, report)
        if section is None:
            return None
        section.check_keys(DIALECT_KEYS)
        extends = "extends" in section
        if not any(key in section for key in _SUBSTANCE) and section.values.get("framing") != "text":
            section.lacks("a dialect needs `rules`, `write`, `extends` or `framing: text`")
        base = self._base(section, source.name) if extends else None
        options = compile_options(section)
        encoder = compile_encoder(section, options, base.encoder if base else None, extends=extends)
        decoder = compile_decoder(section, options, base.decoder if base else None, extends=extends)
        requests = compile_requests(section, base)
        reader, writer = requests
        sides: dict[str, object] = {"in": decoder, "stream": decoder, "events": encoder}
        sides |= {"request_body": reader, "request": writer}
        examples = compile_examples(section, {kind for kind, side in sides.items() if side is not None})
        is_sound = report.count == 0
        if not is_sound:  # that it is named is no second problem
            decoder, encoder = decoder or Decoder, encoder or Encoder
        dialect = _dialect(source.name, decoder, encoder, requests)
        return MappedDialect(dialect, examples, source, is_sound)

    def _base(self, section: Section, name: str) -> Dialect | None:
        base = section.text("extends")
        if base is None:
            return None
        chain = self._chain(name)
        if name in chain:
            way = " -> ".join([name, *chain[: chain.index(name) + 1]])
            section.misplaced("extends", f"extends itself: {way}")
            return None
        if len(chain) > MAX_DEPTH:
            section.wrong("extends", f"dialects extend each other at most {MAX_DEPTH} deep")
            return None
        if base in self._sources:
            if len(set(chain)) != len(chain):  # a cycle further up: reported there
                return None
            compiled = self._compile(base)
            return compiled.dialect if compiled else None
        return self._find(section, base)

    def _find(self, section: Section, name: str) -> Dialect | None:
        names = [*self._known, *self._sources]
        if name not in self._known:
            section.wrong("extends", f"unknown dialect {name!r}{suggestion(name, sorted(names))}")
            return None
        try:
            return self._known.find(name)
        except ConfigurationError as error:
            section.wrong("extends", str(error))
            return None

    def _chain(self, name: str) -> list[str]:
        """Return the names of the chain that a dialect extends, up to a name repeated or not declared."""
        chain: list[str] = []
        while name in self._sources:
            value = self._sources[name].value
            base = value.get("extends") if isinstance(value, dict) else None
            if not isinstance(base, str):
                break
            chain.append(base)
            if chain.count(base) > 1 or len(chain) > len(self._sources) + 1:
                break
            name = base
        return chain


def _dialect(
    name: str, decoder: type[Decoder] | None, encoder: type[Encoder] | None, requests: Sides
) -> Dialect:
    """Return the dialect; a name that is not allowed is replaced by `dialect`."""
    usable = name if _NAME.fullmatch(name) and name != _RESERVED else "dialect"
    reader, writer = requests
    side: Any = decoder if decoder is not None else encoder
    if side is not None and side.__module__.startswith(_OWN):  # not one that it was handed down
        side.request_reader, side.request_writer = reader, writer
    if decoder is not None and decoder is not Decoder:
        decoder.encoder = encoder  # type: ignore[attr-defined]
    return Dialect(
        usable,
        decoder,
        encoder,
        summary="A home-made dialect.",
        detectable=False,
        request_reader=reader,
        request_writer=writer,
    )
