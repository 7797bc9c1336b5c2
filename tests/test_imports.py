"""Imports go one way: shells -> translator -> stages, dialects -> framing, events, errors."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import version

import pytest
import uvicorn

import streamweir
from cases import for_each
from places import ROOT
from source_tree import MODULES, PACKAGES, importers_of, imports_of, modules_in, within

LIBRARY = modules_in("streamweir")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
STANDARD = ("builtins", "typing", "abc", "enum")
"""Whose private names are words of the language, such as `_replace` of a named tuple."""


def library(*places: str) -> set[str]:
    return modules_in(*(f"streamweir.{place}" for place in places))


def test_library_never_imports_the_gateway() -> None:
    assert not importers_of("streamweir_gateway") & LIBRARY


def test_imports_never_use_the_name_of_a_folder() -> None:
    assert not importers_of("gateway", "middleware")


def test_starlette_stays_in_asgi_and_the_gateway() -> None:
    assert importers_of("starlette") & LIBRARY <= library("asgi")


def test_http_client_stays_where_requests_are_sent() -> None:
    allowed = {"streamweir_gateway.upstream.httpcore_transport", *library("client")}
    assert importers_of("httpx", "httpx_aiohttp") <= allowed


def test_library_needs_no_server_and_no_test_framework() -> None:
    banned = ("uvicorn", "pydantic", "pytest", "hypothesis", "jsonschema")
    assert not importers_of(*banned) & LIBRARY


def test_yaml_is_read_in_one_room() -> None:
    assert importers_of("ruamel") == {f"streamweir.yaml_files.{name}" for name in ("tree", "faults")}


def test_uvicorn_is_used_by_its_public_classes_only() -> None:
    server = "streamweir_gateway.processes.server"
    assert importers_of("uvicorn") == {server}
    assert [name for name in imports_of(server) if within(name, "uvicorn")] == ["uvicorn"]
    tree = ast.parse(MODULES[server].read_text())
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    used = {
        node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "uvicorn"
    }
    assert used == {"Config", "Server"}
    private = {name for name in dir(uvicorn.Server(uvicorn.Config("any:app"))) if re.match("_[^_]", name)}
    assert not private & {node.attr for node in attributes}


@pytest.mark.slow
@for_each("module", sorted(MODULES))
def test_private_names_of_libraries_are_not_imported_or_overridden(module: str) -> None:
    """Whatever begins with an underscore may change with any release of its library."""
    foreign = {name for name in imports_of(module) if not within(name, *PACKAGES)}
    assert not {name for name in foreign if re.search(r"(^|\.)_(?!_)", name)}
    tree = ast.parse(MODULES[module].read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in foreign:
            assert not [alias.name for alias in node.names if re.match("_[^_]", alias.name)]
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.bases:
            assert not private_names_of_libraries(module, node), node.name


def private_names_of_libraries(module: str, node: ast.ClassDef) -> set[str]:
    """The private names of a library's class that a class of ours has or asks for."""
    bases = getattr(importlib.import_module(module), node.name).__mro__[1:]
    libraries = [base for base in bases if not within(base.__module__, *PACKAGES, *STANDARD)]
    private = {name for base in libraries for name in (*vars(base), *attributes(base))}
    asked = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
    own = {part.name for part in node.body if isinstance(part, FUNCTIONS)}
    return {name for name in private & (asked | own) if re.match("_[^_]", name)}


@cache
def attributes(base: type) -> list[str]:
    """What a class sets in itself; none where it is no Python."""
    try:
        return re.findall(r"self\.(\w+)", inspect.getsource(base))
    except (OSError, TypeError):
        return []


LAYERS = [
    (
        "digests",
        "errors",
        "http_grammar",
        "ids",
        "lazy_pattern",
        "metadata",
        "redaction",
        "refusal_codes",
        "request_errors",
        "request_id",
    ),
    ("classification", "events", "jsontext", "options", "own_warnings"),
    ("framing", "json_size", "optional_json", "raw_json", "opaque", "schema"),
    ("expressions",),
    ("requests",),
    ("codec", "dialects", "stages"),
    ("yaml_files",),
    ("translation",),
]
"""The core from the bottom up: a module imports from its own layer and those below, never `streamweir`."""


@pytest.mark.parametrize("level", range(len(LAYERS)))
def test_modules_of_the_core_import_downwards_only(level: int) -> None:
    below = {f"streamweir.{place}" for layer in LAYERS[: level + 1] for place in layer}
    for module in library(*LAYERS[level]):
        own = {name for name in imports_of(module) if within(name, "streamweir")}
        assert not {name for name in own if not within(name, *below)}, module


def test_stages_do_not_know_the_dialects() -> None:
    assert not importers_of("streamweir.dialects") & library("stages")


FOLDERS = sorted({module for module in library("dialects") if module.count(".") == 2})


@pytest.mark.parametrize("folder", FOLDERS)
def test_dialect_imports_no_other_dialect(folder: str) -> None:
    for module in modules_in(folder):
        used = {name for name in imports_of(module) if within(name, "streamweir.dialects")}
        assert not {name for name in used if not within(name, folder)}, module


@pytest.mark.parametrize("folder", FOLDERS)
def test_files_of_a_dialect_are_named_by_direction(folder: str) -> None:
    """What reads knows nothing of what writes, and the other way about; what both use is shared."""
    allowed = {
        "decode": ("decode", "shared"),
        "encode": ("encode", "shared"),
        "request": ("request", "shared"),
        "shared": ("shared",),
        "turn": ("turn", "shared"),
    }
    for module in modules_in(folder) - {folder}:
        direction = module.rpartition(".")[2].partition("_")[0]
        used = {name.removeprefix(f"{folder}.") for name in imports_of(module) if within(name, folder)}
        assert not {name for name in used if name.partition("_")[0] not in allowed[direction]}, module


SHELLS = ("asgi", "client", "emit", "testing")


@pytest.mark.parametrize("room", ["delivery", "http", "runs"])
def test_modules_that_all_shells_share_import_no_shell(room: str) -> None:
    """Gateway, middleware and responses import these rooms; an import of a shell here would be a circle."""
    shells = tuple(f"streamweir.{shell}" for shell in SHELLS)
    for module in library(room):
        assert not {name for name in imports_of(module) if within(name, *shells)}, module


def test_every_other_module_is_above_the_core() -> None:
    core = library(*(place for layer in LAYERS for place in layer))
    shells = LIBRARY - core - {"streamweir"}
    for module in core:
        assert not imports_of(module) & shells, module


def test_files_never_import_each_other_in_a_circle() -> None:
    """Imports for types alone count too; an `__init__.py` only hands names on."""
    files = {module for module in MODULES if MODULES[module].name != "__init__.py"}
    TopologicalSorter({module: imports_of(module) & files for module in files}).prepare()


KNOWN_BY_LISTING = ("streamweir.dialects", "streamweir.codec")
"""`codec/dialects.py` lists the folder of the dialects, which it cannot do without naming it."""


@pytest.mark.parametrize("package", PACKAGES)
def test_rooms_never_import_each_other(package: str) -> None:
    uses = {
        (room_of(module), room_of(name))
        for module in modules_in(package) - {package}
        for name in imports_of(module)
        if within(name, package) and name != package
    }
    assert not {pair for pair in uses if pair[0] < pair[1] and pair[::-1] in uses} - {KNOWN_BY_LISTING[::-1]}


def room_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


LOADED = """
import logging, os, signal, sys, threading, warnings

def process():
    handlers = (*logging.getLogger().handlers, *logging.getLogger("streamweir").handlers)
    filters = list(warnings.filters)
    return threading.active_count(), filters, dict(os.environ), signal.getsignal(signal.SIGTERM), handlers

before = process()
import streamweir
assert process() == before
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_importing_the_library_loads_and_changes_nothing() -> None:
    path = {"PYTHONPATH": str(ROOT / "middleware")}
    loaded = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, env=path, timeout=60
    ).stdout.split()
    assert "streamweir" in loaded
    assert not {"starlette", "httpx", "aiohttp", "pytest", "hypothesis", "pydantic"} & set(loaded)


HEAVY = (
    "asyncio",
    "anyio",
    "importlib.metadata",
    "http.client",
    "socketserver",
    "ssl",
    "email",
    "jmespath",
    "pathlib",
)


@pytest.mark.parametrize("statement", ["import streamweir", "from streamweir import convert, Translator"])
def test_translating_loads_no_servers_and_no_metadata_of_packages(statement: str) -> None:
    code = f"import sys; before = set(sys.modules); {statement}; print(*sys.modules.keys() - before)"
    path = {"PYTHONPATH": str(ROOT / "middleware")}
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path[1:]!r}; {code}"],
        capture_output=True,
        text=True,
        check=True,
        env=path,
        timeout=60,
    ).stdout.split()
    assert "streamweir.translation.translator" in loaded
    assert not {name for name in loaded if name in HEAVY}


def test_lazily_loaded_names_are_available() -> None:
    assert streamweir.EventStream is importlib.import_module("streamweir.emit.event_stream").EventStream
    assert streamweir.__version__ == version("streamweir")
    assert {"EventStream", "StreamingEngine", "__version__", "convert"} <= set(dir(streamweir))
    with pytest.raises(AttributeError):
        streamweir.no_such_name  # noqa: B018


@pytest.mark.parametrize("module", ["streamweir.testing", "streamweir.schema"])
def test_conformance_kit_needs_no_test_framework(module: str) -> None:
    code = f"import sys; sys.modules['pytest'] = None; import {module}; assert 'starlette' not in sys.modules"
    path = {"PYTHONPATH": str(ROOT / "middleware")}
    subprocess.run([sys.executable, "-c", code], check=True, env=path, timeout=60)
