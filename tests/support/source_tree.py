"""The modules of both packages and what each of them imports, read from the source."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from places import ROOT

PACKAGES = {
    "streamweir": ROOT / "middleware/streamweir",
    "streamweir_gateway": ROOT / "gateway/streamweir_gateway",
}


def _modules() -> dict[str, Path]:
    found = {}
    for package, folder in PACKAGES.items():
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join((package, *parts)).removesuffix(".__init__")] = path
    return found


MODULES = _modules()
_INSIDE = MODULES.keys() - PACKAGES.keys()


@cache
def imports_of(module: str) -> frozenset[str]:
    """What a module imports, anywhere in it.

    Imports for type checking count, and so does a text that is the name of a module of ours: `import_module`
    takes such a text.
    """
    return frozenset(_imports(module))


def _imports(module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(module, node)
            for alias in node.names:
                name = f"{source}.{alias.name}"
                yield name if name in MODULES else source
        elif isinstance(node, ast.Constant) and node.value in _INSIDE:
            yield node.value


def _absolute(module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return str(node.module)
    is_package = MODULES[module].name == "__init__.py"
    parts = module.split(".")
    base = parts[: len(parts) - node.level + is_package]
    return ".".join([*base, node.module] if node.module else base)


def within(module: str, *places: str) -> bool:
    """Is `module` one of `places` or inside of one?"""
    return any(module == place or module.startswith(f"{place}.") for place in places)


def importers_of(*targets: str) -> set[str]:
    """The modules that import one of `targets`, or something inside of one."""
    return {module for module in MODULES if any(within(name, *targets) for name in imports_of(module))}


def modules_in(*places: str) -> set[str]:
    """The modules that are one of `places` or inside of one."""
    return {module for module in MODULES if within(module, *places)}


def names_given_in(module: str) -> set[str]:
    """The names that a module gives: to what it defines and binds, to arguments, to attributes."""
    nodes = ast.walk(ast.parse(MODULES[module].read_text()))
    return {name for node in nodes for name in _given_by(node) if name}


def _given_by(node: ast.AST) -> Iterator[str | None]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.arg(arg=name) | ast.alias(asname=name) | ast.ExceptHandler(name=name):
            yield name
        case ast.MatchAs(name=name) | ast.MatchStar(name=name) | ast.MatchMapping(rest=name):
            yield name
