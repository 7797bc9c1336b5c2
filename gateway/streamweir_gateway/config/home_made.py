"""`dialects:`: the home-made dialects of a configuration, written in it or in separate files.

Source: the dialect-file contract, sections 1 and 9.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from streamweir.codec.base import Decoder, Encoder
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.codec.mapped.dialect import DialectSource, compile_dialects
from streamweir.codec.mapped.problems import ProblemList
from streamweir.codec.registry import add_dialect_at, dialect_at, places, process_dialects
from streamweir.errors import ConfigurationError
from streamweir.translation.home_made_dialects import dialects_from
from streamweir.yaml_files.dialect_files import read_dialect
from streamweir.yaml_files.report import Report
from streamweir_gateway.config.diagnostics import not_this
from streamweir_gateway.config.dialect_files import FILE, KEY
from streamweir_gateway.config.interpolation import Interpolation

__all__ = ["ConfiguredDialects", "read_home_made"]

_PYTHON: Final = "python"
"""The key of a dialect that is a class: `{python: "package.module:Acme"}`."""


class ConfiguredDialects(Dialects):
    """The dialects of one configuration. They are compiled anew when this is unpickled in another process.

    Args:
        known: the dialects of the process.
        sources: for each home-made dialect, by name: its source in the file.
        home_made: the compiled home-made dialects.
    """

    def __init__(self, known: Dialects, sources: Mapping[str, Any], home_made: Iterable[Dialect]) -> None:
        both = known.with_(*home_made)
        super().__init__(both._dialects.values(), installed=both._installed)
        self._sources = sources

    def __reduce__(self) -> tuple[Callable[..., Dialects], tuple[Any, ...]]:
        return _compiled_again, (dict(self._sources), places())


def read_home_made(value: Any, report: Report, interpolation: Interpolation, known: Dialects) -> Dialects:
    """Return the dialects that a file may name: the `known` dialects and its home-made dialects.

    Args:
        value: the value of `dialects:`, with variables filled in.
        report: the report of the file.
        interpolation: fills the files of dialects.
        known: the built-in and installed dialects.
    """
    if not isinstance(value, Mapping) or not value:
        return known
    classes = {name: tree for name, tree in value.items() if isinstance(tree, Mapping) and _PYTHON in tree}
    known = _with_classes(classes, report, interpolation.folder, known)
    value = {name: tree for name, tree in value.items() if name not in classes}
    written = [_source(name, tree, report, interpolation) for name, tree in value.items()]
    sources = [source for source in written if source is not None]
    found = dialects_from(sources, known)
    for source in sources:
        if isinstance(source.report, Report):
            report.problems |= source.report.problems
    usable = [*found, *_placeholders(value.keys() - {dialect.name for dialect in found})]
    own = [dialect for dialect in usable if not known.has_name(dialect.name)]
    trees = {**classes, **{source.name: source.value for source in sources}}
    return ConfiguredDialects(known, trees, own)


def _with_classes(
    trees: Mapping[str, Mapping[str, Any]], report: Report, folder: Path, known: Dialects
) -> Dialects:
    """Return `known` with the dialects that are classes; their modules may be in `folder`."""
    for name, tree in trees.items():
        for key in tree:
            if key != _PYTHON:
                report.at_key((KEY, name, key), f"stands in the class of the dialect, not beside `{_PYTHON}`")
        place = tree[_PYTHON]
        if not isinstance(place, str):
            report.at_value((KEY, name, _PYTHON), "must be package.module:Class", not_this(place))
            continue
        try:
            known = known.with_(dialect_in(folder, place, name))
        except ConfigurationError as error:
            report.at_value((KEY, name, _PYTHON), str(error))
            known = known.with_(*_placeholders({name}), replace=True)
    return known


def dialect_in(folder: Path, place: str, name: str) -> Dialect:
    """Return the dialect at `place`. Its module may be in `folder`."""
    path = str(folder.resolve())
    if path not in sys.path:
        sys.path.append(path)
    return dialect_at(place, name)


def _source(name: str, tree: Any, report: Report, interpolation: Interpolation) -> DialectSource | None:
    """Return the source of one dialect; None if its file cannot be used."""
    path = (KEY, name)
    if not isinstance(tree, Mapping) or FILE not in tree:
        return DialectSource(name, tree, report, path, interpolation.folder)
    for key in tree:
        if key != FILE:
            report.at_key((*path, key), f"stands in the file of the dialect, not beside `{FILE}`")
    file = tree[FILE]
    if not isinstance(file, str) or not file:
        report.at_value((*path, FILE), "must be the path of a file", not_this(file))
        return None
    place = interpolation.folder / file
    if not place.is_file():
        report.at_value((*path, FILE), "there is no such file", f": {file}")
        return None
    found, own = read_dialect(place, name=file)
    if found is None:
        report.problems |= own.problems
        return None
    return DialectSource(
        name, replace(interpolation, is_dialect=True).fill(found, own), own, (), place.parent
    )


def _placeholders(names: Iterable[str]) -> list[Dialect]:
    """Return dialects without rules under these names, because the files of the dialects have faults.

    Endpoints may name such a dialect: only the fault in its file is reported, and no unknown name.
    """
    return [Dialect(name, Decoder, Encoder) for name in names if _can_be_named(name)]


def _can_be_named(name: str) -> bool:
    try:
        Dialect(name)
    except ValueError:
        return False
    return True


def _compiled_again(sources: Mapping[str, Any], placed: Mapping[str, str]) -> Dialects:
    """Return the dialects of a configuration that another process has found valid."""
    for name, place in placed.items():
        add_dialect_at(place, name)
    known = process_dialects()
    rules = {name: tree for name, tree in sources.items() if _PYTHON not in tree}
    for name, tree in sources.items():
        if name not in rules:
            known = known.with_(dialect_at(tree[_PYTHON], name))
    report = ProblemList()
    found = compile_dialects((DialectSource(name, tree, report) for name, tree in rules.items()), known)
    return ConfiguredDialects(known, sources, [compiled.dialect for compiled in found])
