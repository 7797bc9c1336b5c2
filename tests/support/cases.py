"""Many cases in one test: a failure names the one that it is about."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["case"]


@contextmanager
def case(*names: object) -> Iterator[None]:
    """Add the names of a case to what is raised for it."""
    try:
        yield
    except BaseException as failure:
        failure.add_note(f"case: {' '.join(map(str, names))}")
        raise
