"""Dialects from mappings and from files: compiled, and checked by their own examples.

Source: the dialect-file contract, sections 1 and 9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from streamweir.codec.base import Decoder, Encoder
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.codec.mapped.dialect import DialectSource, check_name, compile_dialects
from streamweir.codec.mapped.problems import ProblemList
from streamweir.codec.registry import process_dialects
from streamweir.errors import ConfigurationError
from streamweir.translation.dialect_examples import run_examples
from streamweir.yaml_files.report import Report

__all__ = ["dialects_from", "load_dialect"]

_Side: TypeAlias = type[Decoder] | type[Encoder]


def dialects_from(sources: Iterable[DialectSource], known: Dialects) -> list[Dialect]:
    """Return the dialects of one configuration; problems are added to its report.

    Args:
        sources: the definitions by name; each name occurs once.
        known: the built-in and installed dialects.
    """
    sources = [*sources]
    for source in sources:
        check_name(source, known)
    found = compile_dialects(sources, known)
    for compiled in found:
        if compiled.is_sound:
            run_examples(compiled)
    return [compiled.dialect for compiled in found]


def load_dialect(source: Mapping[str, Any] | str | Path, *, name: str = "dialect") -> _Side:
    """Return a home-made dialect as a class to be registered: `register_dialect("acme", load_dialect(...))`.

    Args:
        source: the keys of a dialect, or the path of a YAML file that holds them; reading one needs the extra
            `yaml`.
        name: the name of the dialect in messages.

    Returns:
        Its decoder, with the encoder in its attribute `encoder`; the encoder if the dialect is only written.

    Raises:
        ConfigurationError: the dialect has problems, which the text lists.
    """
    if not isinstance(source, str | PathLike):
        return _loaded(name, source, Path())
    path = Path(source)
    value, report = _read_yaml(path)
    return _loaded(name, value, path.parent, report)


def _loaded(name: str, value: Any, folder: Path, report: Report | None = None) -> _Side:
    own = ProblemList()
    source = DialectSource(name, value, own if report is None else report, folder=folder)
    found = compile_dialects([source], process_dialects())
    for compiled in found:
        if compiled.is_sound:
            run_examples(compiled)
    if report is not None:
        report.stop_if_any()
    if own.problems:
        raise ConfigurationError("\n".join(map(str, own.problems)))
    (compiled,) = found
    side = compiled.dialect.decoder or compiled.dialect.encoder
    assert side is not None
    return side


def _read_yaml(path: Path) -> tuple[Any, Report]:
    try:
        from streamweir.yaml_files.dialect_files import read_dialect  # noqa: PLC0415 - loads the YAML reader
    except ImportError as error:
        raise ConfigurationError(
            "reading a dialect from YAML needs the extra `yaml`: pip install 'streamweir[yaml]'"
        ) from error
    return read_dialect(path)
