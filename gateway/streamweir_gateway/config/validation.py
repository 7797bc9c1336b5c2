"""The tree -> the models, with pydantic's errors put into the contract's words.

A tree with errors is mended and validated again: what is wrong becomes opaque or empty, what does not
belong goes. So the rules that look at several keys together can still be checked, and all problems are
shown at once.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import UnionType
from typing import Any, Final, TypeAlias, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from streamweir_gateway.config.diagnostics import InvalidValue, KeyPath, Report, suggestion
from streamweir_gateway.config.interpolation import Unresolved
from streamweir_gateway.config.models import ELSEWHERE, HOMES, NOT_BUILT, GatewayFile
from streamweir_gateway.config.scalars import NOT_SUPPORTED, any_of
from streamweir_gateway.config.sections import Section

__all__ = ["validate"]

MENDINGS: Final = 6
"""What has the wrong shape becomes empty, then gets what it must hold, then that becomes opaque."""

_KEY: Final = "[key]"
"""What pydantic appends to the path of a key that it refuses."""

_NO_MAPPING: Final = "must be a mapping"
_NO_LIST: Final = "must be a list"
_WRONG_SHAPE: Final = {
    "dict_type": _NO_MAPPING,
    "model_type": _NO_MAPPING,
    "tuple_type": _NO_LIST,
}

Tree: TypeAlias = dict[str, Any]


def validate(tree: Tree, report: Report) -> GatewayFile | None:
    """Return the models of `tree`, mended where it had to be; None where it cannot be mended.

    `report` gets the problems of the tree as it was: those of a mended one only follow from them.
    """
    for attempt in range(MENDINGS):
        try:
            return GatewayFile.model_validate(tree)
        except ValidationError as error:
            errors = error.errors(include_url=False)
        if attempt == 0:
            for details in errors:
                _report(details, report)
        tree = _mended(tree, errors)
    return None


def _report(error: ErrorDetails, report: Report) -> None:
    path = error["loc"]
    match error["type"]:
        case "extra_forbidden":
            report.at_key(path, _about_extra_key(path))
        case "missing":
            report.at_key(path[:-1], f"the key {path[-1]!r} is missing")
        case "value_error":
            _report_refusal(error["ctx"]["error"], path, report)
        case kind:
            message = (
                "has no value" if error["input"] is None else _WRONG_SHAPE.get(kind, "cannot be used here")
            )
            report.at_value(path, message)


def _report_refusal(refusal: InvalidValue, path: KeyPath, report: Report) -> None:
    if path[-1] == _KEY:
        report.at_key(path[:-1], refusal.message)
    else:
        report.at_value(path, refusal.message, refusal.detail)


def _about_extra_key(path: KeyPath) -> str:
    section, key = _section_at(path[:-1]), str(path[-1])
    if key in NOT_BUILT.get(section, ()):
        return NOT_SUPPORTED
    if key in ELSEWHERE.get(section, {}):
        return ELSEWHERE[section][key]
    if homes := [home for home, model in HOMES.items() if key in model.model_fields]:
        return f"unknown key; {key!r} stands {any_of(*homes)}"
    return f"unknown key{suggestion(key, section.model_fields)}"


def _section_at(path: KeyPath) -> type[Section]:
    """Return the model of the mapping at `path`."""
    kind: Any = GatewayFile
    for step in path:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            kind = kind.model_fields[str(step)].annotation
        else:
            inner = get_args(kind)
            kind = inner[-1] if get_origin(kind) is Mapping else inner[0]
        if get_origin(kind) is UnionType:
            # A section that may be absent, or that a word may stand for, comes first.
            kind = get_args(kind)[0]
    return kind if isinstance(kind, type) and issubclass(kind, Section) else Section


def _mended(tree: Tree, errors: list[ErrorDetails]) -> Tree:
    mended = copy.deepcopy(tree)
    # A key takes with it what it holds, so keys go last, the inner before the outer.
    for error in sorted(errors, key=lambda error: (_is_about_a_key(error), -len(error["loc"]))):
        _mend(mended, error)
    return mended


def _is_about_a_key(error: ErrorDetails) -> bool:
    """Tell a refused key from a refused value; a file may hold a key that is called `[key]`."""
    return error["type"] == "value_error" and error["loc"][-1] == _KEY


def _mend(tree: Tree, error: ErrorDetails) -> None:
    kind, path = error["type"], error["loc"]
    is_key = _is_about_a_key(error)
    holder, last = _holder(tree, path[:-1] if is_key else path)
    if is_key or kind == "extra_forbidden":
        del holder[last]
    elif kind in _WRONG_SHAPE:
        holder[last] = [] if _WRONG_SHAPE[kind] == _NO_LIST else {}
    elif kind == "value_error" and holder[last] == []:
        # A list that must not be empty; where a single value should stand, the next round sees to it.
        holder[last] = [Unresolved()]
    else:
        holder[last] = Unresolved()


def _holder(tree: Tree, path: KeyPath) -> tuple[Any, Any]:
    """Return the mapping or list that holds what `path` leads to, and the last step.

    One string may stand for a list of one: the step into it leads nowhere, and the string itself is meant.
    """
    holder: Any = tree
    for depth, step in enumerate(path[:-1]):
        inner = holder[step]
        if not isinstance(inner, dict | list):
            return holder, path[depth]
        holder = inner
    return holder, path[-1]
