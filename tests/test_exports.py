"""What a module exports is listed, sorted and described."""

import ast
import importlib
import inspect
from types import ModuleType

from cases import for_each
from source_tree import MODULES

SCRIPTS = {name for name in MODULES if name.endswith("__main__")}
LIBRARY = sorted(name for name in MODULES if name.split(".")[0] == "streamweir" and name not in SCRIPTS)


def room_of(name: str) -> str:
    return ".".join(name.split(".")[:2])


def load(name: str) -> ModuleType:
    return importlib.import_module(name)


def defined_in(name: str) -> set[str]:
    """The public names that the module defines itself: classes, functions and annotated constants."""
    names = set()
    for node in ast.parse(MODULES[name].read_text()).body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
    return {found for found in names if not found.startswith("_")}


@for_each("name", LIBRARY, group=room_of)
def test_all_of_a_module_is_complete_and_sorted(name: str) -> None:
    module = load(name)
    listed = getattr(module, "__all__", None)
    if listed is None:
        assert not defined_in(name), "the module has public names but no __all__"
        return
    assert len(set(listed)) == len(listed)
    assert [*listed] == sorted(listed, key=isort_order)
    assert not [missing for missing in listed if not hasattr(module, missing)]


def isort_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest: the order that the linter keeps."""
    bare = name.strip("_") or name
    kind = 0 if bare.isupper() and len(bare) > 1 else 1 if bare[0].isupper() else 2
    return kind, name


@for_each("name", LIBRARY, group=room_of)
def test_exported_names_have_a_docstring(name: str) -> None:
    module = load(name)
    assert (module.__doc__ or "").strip(), "the module has no docstring"
    for exported in getattr(module, "__all__", ()):
        thing = getattr(module, exported)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert (thing.__doc__ or "").strip(), f"{exported} has no docstring"
            assert not undescribed(thing), f"{exported}: {undescribed(thing)}"


def undescribed(thing: object) -> list[str]:
    """Public methods and properties of a class that say nothing of themselves, nor does a base class."""
    if not inspect.isclass(thing) or not thing.__module__.startswith("streamweir"):
        return []
    return [
        name
        for name, member in vars(thing).items()
        if not name.startswith("_")
        and (inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod))
        and not inspect.getdoc(getattr(thing, name))
    ]
