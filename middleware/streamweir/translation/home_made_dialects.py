"""Dialects from mappings and from files: compiled, checked by their own examples, ready to be named.

Source: the dialect-file contract, sections 1 and 9.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from streamweir.codec.base import Decoder, Encoder
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.codec.mapped.dialect import DialectSource, check_name, compile_dialects
from streamweir.codec.mapped.problems import ProblemList
from streamweir.codec.registry import process_dialects
from streamweir.errors import ConfigurationError
from streamweir.translation.dialect_examples import run_examples

__all__ = ["dialects_from", "load_dialect"]


def dialects_from(sources: Iterable[DialectSource], known: Dialects) -> list[Dialect]:
    """Return the dialects of one configuration; what is wrong with them is reported.

    Args:
        sources: by name, each once.
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


def load_dialect(
    source: Mapping[str, Any] | str | Path, *, name: str = "dialect"
) -> type[Decoder] | type[Encoder]:
    """Return a home-made dialect as a class to be registered: `register_dialect("acme", load_dialect(...))`.

    Args:
        source: the keys of a dialect, or the path of a YAML file that holds them; reading one needs the extra
            `gateway`.
        name: what it is called in messages.

    Returns:
        Its decoder, whose `encoder` is what `write` says; the encoder of a dialect that is only written.

    Raises:
        ConfigurationError: something is wrong with the dialect; the text is the list of problems.
    """
    if isinstance(source, Mapping):
        return _loaded(name, source, Path())
    path = Path(source)
    files: Any = _yaml_files()
    value, report = files.read_dialect(path)
    return _loaded(name, value, path.parent, report)


def _loaded(name: str, value: Any, folder: Path, report: Any = None) -> type[Decoder] | type[Encoder]:
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


def _yaml_files() -> Any:
    """What reads YAML with the place of every value; it comes with the gateway."""
    try:
        return importlib.import_module("streamweir_gateway.config.dialect_files")
    except ImportError as error:
        raise ConfigurationError(
            "reading a dialect from YAML needs the extra `gateway`: pip install 'streamweir[gateway]'"
        ) from error
