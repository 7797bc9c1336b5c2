"""Loads a file: returns the configuration, or raises an error with every problem."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamweir.codec.dialects import Dialects
from streamweir.yaml_files.reading import read_text
from streamweir.yaml_files.report import Position, Report
from streamweir.yaml_files.tree import read_tree
from streamweir_gateway.config.certificates import check_certificates
from streamweir_gateway.config.dialect_files import dialect_files_in
from streamweir_gateway.config.fingerprint import fingerprint
from streamweir_gateway.config.interpolation import Interpolation
from streamweir_gateway.config.later_keys import without_later_keys
from streamweir_gateway.config.models import GatewayConfig
from streamweir_gateway.config.recognition import NO_CONFIGURATION, is_configuration
from streamweir_gateway.config.rules import check_rules
from streamweir_gateway.config.rules.remarks import remark_on_answers, remark_on_variables
from streamweir_gateway.config.rules.websockets import remark_on_websockets
from streamweir_gateway.config.validation import validate

__all__ = ["load_config", "load_dialects", "parse_config"]


def load_config(
    path: str | os.PathLike[str],
    *,
    dialects: Dialects,
    environ: Mapping[str, str] = os.environ,
    check: bool = False,
) -> GatewayConfig:
    """Read and check the configuration file at `path`.

    Args:
        dialects: the dialects that the file may name.
        environ: the variables for `${NAME}`.
        check: whether missing variables and files are tolerated. Values that depend on them are not checked,
            and the result must not be served.

    Raises:
        ConfigErrors: the file cannot be read or used; it lists every problem.
    """
    name = os.fspath(path)
    report = Report(name)
    text = read_text(Path(path), report)
    report.stop_if_any()
    folder = Path(path).parent
    return parse_config(text, name=name, folder=folder, dialects=dialects, environ=environ, check=check)


def parse_config(
    text: str,
    *,
    name: str,
    folder: Path,
    dialects: Dialects,
    environ: Mapping[str, str] = os.environ,
    check: bool = False,
) -> GatewayConfig:
    """Do the work of `load_config`, given the text of a file called `name` in `folder`.

    Raises:
        ConfigErrors: the text cannot be used; it lists every problem.
    """
    report = Report(name)
    if not is_configuration(text):
        report.at(Position(1, 1), NO_CONFIGURATION)
        report.stop_if_any()
    tree = read_tree(text, report)
    config, known = None, dialects
    if tree is not None:
        interpolation = Interpolation(environ, folder, tolerant=check)
        filled = without_later_keys(interpolation.fill(tree, report), report)
        known = _known(filled.get("dialects"), report, interpolation, dialects)
        serves = not check or filled.keys() != {"dialects"}  # such a file is named by commands, not served
        config = validate(filled if serves else {**filled, "endpoints": {}}, report, folder)
        if config is not None and serves:
            check_rules(config, known, report)
            check_certificates(config, report, tolerant=check)
            remark_on_variables(tree, report)
            remark_on_answers(config, known, report)
            remark_on_websockets(config, report)
    report.stop_if_any()
    assert config is not None, "a file without models has problems"
    files = dialect_files_in(tree or {}, folder)
    found = {"fingerprint": fingerprint(text, files), "remarks": report.sorted_remarks()}
    return config.model_copy(update={"known_dialects": known, **found})


def load_dialects(
    path: str | os.PathLike[str], *, dialects: Dialects, environ: Mapping[str, str] = os.environ
) -> Dialects:
    """Return the dialects that the file at `path` may name. Other parts of the file are not checked.

    Raises:
        ConfigErrors: the file, or a dialect in it, cannot be used; it lists every problem.
    """
    report = Report(os.fspath(path))
    text = read_text(Path(path), report)
    report.stop_if_any()
    tree = read_tree(text, report)
    interpolation = Interpolation(environ, Path(path).parent, tolerant=True)
    written = interpolation.fill({"dialects": (tree or {}).get("dialects")}, report)["dialects"]
    if tree is not None and written is None:
        report.at(None, "has no `dialects:`")
    found = _known(written, report, interpolation, dialects)
    report.stop_if_any()
    return found


def _known(value: Any, report: Report, interpolation: Interpolation, dialects: Dialects) -> Dialects:
    """Return the dialects that a file may name; `value` is its `dialects:`, with variables filled in."""
    if not value:
        return dialects
    from streamweir_gateway.config.home_made import read_home_made  # noqa: PLC0415 - few files have any

    return read_home_made(value, report, interpolation, dialects)
