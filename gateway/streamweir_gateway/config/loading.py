"""A file -> a configuration, or every reason why not."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from streamweir.codec.dialects import Dialects
from streamweir_gateway.config.certificates import check_certificates
from streamweir_gateway.config.diagnostics import Report
from streamweir_gateway.config.interpolation import Interpolation
from streamweir_gateway.config.models import GatewayConfig
from streamweir_gateway.config.reading import read_text
from streamweir_gateway.config.rules import check_rules
from streamweir_gateway.config.tree import read_tree
from streamweir_gateway.config.validation import validate

__all__ = ["load_config", "parse_config"]


def load_config(
    path: str | os.PathLike[str],
    *,
    dialects: Dialects,
    environ: Mapping[str, str] = os.environ,
    check: bool = False,
) -> GatewayConfig:
    """Read and check the configuration file at `path`.

    Args:
        dialects: those that the file may name.
        environ: what `${NAME}` is looked up in.
        check: tolerate missing variables and files; what depends on them is not checked, and the result is
            for looking at, not for serving.

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
    """Do what `load_config` does with the text of a file called `name` that stands in `folder`.

    Raises:
        ConfigErrors: the text cannot be used; it lists every problem.
    """
    report = Report(name)
    tree = read_tree(text, report)
    config = None
    if tree is not None:
        filled = Interpolation(environ, folder, tolerant=check).fill(tree, report)
        config = validate(filled, report, folder)
    if config is not None:
        check_rules(config, dialects, report)
        check_certificates(config, report, tolerant=check)
    report.stop_if_any()
    assert config is not None, "a file without models has problems"
    return config.model_copy(update={"known_dialects": dialects})
