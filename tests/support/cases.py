"""Many cases in one test: a failure names those that it is about.

A test of its own costs more than most cases do: to be collected by each worker, to be handed out, reported.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeAlias, TypeVar

import pytest

__all__ = ["case", "for_each"]

T = TypeVar("T")
Test: TypeAlias = Callable[..., None]


def _all(_value: object) -> str:
    return "all"


@contextmanager
def case(*names: object) -> Iterator[None]:
    """Add the names of a case to what is raised for it."""
    try:
        yield
    except BaseException as failure:
        failure.add_note(f"case: {' '.join(map(str, names))}")
        raise


def for_each(name: str, values: Iterable[T], *, group: Callable[[T], str] = _all) -> Callable[[Test], Test]:
    """Run a test with each of `values` as its argument `name`, those of one group in one test.

    All of them run, also behind one that fails. The group is in the test's id.
    """
    groups: dict[str, list[T]] = {}
    for value in values:
        groups.setdefault(group(value), []).append(value)
    assert groups

    def decorate(test: Test) -> Test:
        @wraps(test)
        def run_all(cases: Sequence[T], **fixtures: Any) -> None:
            failures = [
                failure
                for value in cases
                if (failure := _failure_of(test, value, {**fixtures, name: value})) is not None
            ]
            if len(failures) > 1:
                raise ExceptionGroup(f"{len(failures)} cases of {len(cases)}", failures)
            if failures:
                raise failures[0]

        own = inspect.signature(test)
        taken = [each for each in own.parameters.values() if each.name != name]
        grouped = inspect.Parameter("cases", inspect.Parameter.KEYWORD_ONLY)
        run_all.__signature__ = own.replace(parameters=[*taken, grouped])  # type: ignore[attr-defined]
        each_group: Callable[[Test], Test] = pytest.mark.parametrize(
            "cases", [*groups.values()], ids=[*groups]
        )
        return each_group(run_all)

    return decorate


def _failure_of(test: Test, value: object, arguments: dict[str, Any]) -> Exception | None:
    try:
        with case(value):
            test(**arguments)
    except Exception as failure:
        return failure
    return None
