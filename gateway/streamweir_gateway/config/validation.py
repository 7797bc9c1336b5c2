"""Makes the models from the merged tree, and turns errors of pydantic into the messages of the contract.

Wrong values are mended in the tree of the file, which is then merged and validated again. So rules about
several keys can still be checked, and all problems are shown at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from streamweir.yaml_files.report import Report
from streamweir_gateway.config.consequences import without_consequences
from streamweir_gateway.config.diagnostics import InvalidValue
from streamweir_gateway.config.key_places import about_unknown_key
from streamweir_gateway.config.mending import Fault, mended
from streamweir_gateway.config.merging import Tree, merge
from streamweir_gateway.config.models.gateway import GatewayConfig

__all__ = ["validate"]

MENDINGS: Final = 6
"""How often a tree is mended at most: a value becomes empty, gets required keys, becomes unresolved."""

_KEY: Final = "[key]"
"""The step that pydantic appends to the path of a key that it refuses."""


def validate(tree: Tree, report: Report, folder: Path | None = None) -> GatewayConfig | None:
    """Return the models of `tree`, mended if necessary; None if it cannot be mended.

    Args:
        tree: the tree of the file.
        report: gets the problems of the original tree (problems of a mended tree only follow from these), and
            the place of each merged value.
        folder: the folder from which relative paths start.
    """
    for attempt in range(MENDINGS):
        merged = merge(tree)
        report.origins = merged.origins
        try:
            return GatewayConfig.model_validate(merged.tree, context=folder)
        except ValidationError as error:
            faults = _faults(error.errors(include_url=False), report)
        if attempt == 0:
            for fault in without_consequences(faults, tree):
                _report(fault, report)
        tree = mended(tree, faults)
    return None


def _faults(errors: Iterable[ErrorDetails], report: Report) -> list[Fault]:
    """Return each fault once, because a fault in `defaults` is found at every endpoint."""
    faults = (_fault(error, report) for error in errors)
    return list({(fault.kind, fault.path): fault for fault in faults}.values())


def _fault(error: ErrorDetails, report: Report) -> Fault:
    kind, path = error["type"], report.origin_of(error["loc"])
    if kind != "value_error":
        return Fault(kind, path, is_null=error["input"] is None)
    is_key = path[-1] == _KEY
    return Fault("key" if is_key else kind, path[:-1] if is_key else path, error["ctx"]["error"])


def _report(fault: Fault, report: Report) -> None:
    match fault:
        case Fault(kind="extra_forbidden", path=path):
            report.at_key(path, about_unknown_key(path))
        case Fault(kind="missing", path=path):
            report.at_key(path[:-1], f"the key {path[-1]!r} is missing")
        case Fault(kind="key", path=path, refusal=InvalidValue(message=message)):
            report.at_key(path, message)
        case Fault(path=path, refusal=InvalidValue(message=message, detail=detail)):
            report.at_value(path, message, detail)
        case Fault(path=path):
            report.at_value(path, f"has no value{fault.advice}" if fault.is_null else fault.expected_shape)
