"""Signatures of functions that take their options as one `TypedDict`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

__all__ = ["checked", "spells_out"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def spells_out(
    options: type, defaults: Mapping[str, Any], *, before: str | None = None, order: Sequence[str] = ()
) -> Callable[[_Function], _Function]:
    """Return a decorator for a function that takes `**options: Unpack[options]`.

    `help` and `inspect.signature` then show each option with its default, in place of `**options`.

    Args:
        options: the `TypedDict`.
        defaults: the default of each of its keys, in the order in which they are listed.
        before: the keyword-only parameter before which the options are listed; None lists them last.
        order: the names of all keyword-only parameters, in the order in which they are listed; empty: the
            options are listed together.
    """
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=_annotation(options.__annotations__[name]),
        )
        for name, default in defaults.items()
    ]

    def decorate(function: _Function) -> _Function:
        own = [
            parameter
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        names = [parameter.name for parameter in own]
        place = len(own) if before is None else names.index(before)
        listed = [*own[:place], *parameters, *own[place:]]
        if order:
            positional = [item for item in listed if item.kind is not inspect.Parameter.KEYWORD_ONLY]
            by_name = {item.name: item for item in listed}
            listed = [*positional, *(by_name[name] for name in order)]
        signature = inspect.Signature(listed, return_annotation=None)
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    return decorate


def checked(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return all options: the given values, and defaults for the others.

    Raises:
        TypeError: an unknown option is given, as for any unknown keyword.
    """
    if not given:
        return defaults
    complete = {**defaults, **given}
    if len(complete) != len(defaults):
        unknown = next(name for name in given if name not in defaults)
        raise TypeError(f"got an unexpected keyword argument {unknown!r}")
    return complete


def _annotation(hint: Any) -> Any:
    return getattr(hint, "__forward_arg__", hint)
