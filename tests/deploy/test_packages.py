"""Wheel and sdist carry the page of the console, built where it is not built yet."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import httpx
import pytest

from places import ROOT
from ports import free_port, until_open

pytestmark = pytest.mark.long

STATIC: Final = "gateway/streamweir_gateway/console/static"
BUILD: Final = "import sys; from hatchling import build; print(getattr(build, sys.argv[1])(sys.argv[2]))"
"""Calls a hook of the build backend in the current folder, as pip does."""


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has the build backend."""
    place = tmp_path_factory.mktemp("backend")
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    python = place / "bin/python"
    subprocess.run(
        [python, "-m", "pip", "install", "-qq", "hatchling>=1.27", "editables"], check=True, timeout=100
    )
    return python


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of this checkout without anything that git ignores."""
    place = tmp_path / "checkout"
    for name in git("ls-files", "--cached", "--others", "--exclude-standard"):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
    return place


@pytest.fixture(scope="module")
def without_node(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH with all that a build needs, but neither node nor npm."""
    place = tmp_path_factory.mktemp("bin")
    for name in ("sh", "env", "git", "tar"):
        if found := shutil.which(name):
            (place / name).symlink_to(found)
    return str(place)


def build(
    backend: Path, hook: str, folder: Path, out: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [backend, "-c", BUILD, hook, out],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def built(done: subprocess.CompletedProcess[str], out: Path) -> Path:
    assert done.returncode == 0, done.stderr
    return out / done.stdout.splitlines()[-1]


def unpacked(archive: Path, place: Path) -> Path:
    with tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")
    (folder,) = place.iterdir()
    return folder


def pages_of(wheel: Path) -> dict[str, bytes]:
    """The files of the page in a wheel, by their path below `static/`."""
    inside = STATIC.removeprefix("gateway/") + "/"
    with zipfile.ZipFile(wheel) as packed:
        return {
            name.removeprefix(inside): packed.read(name)
            for name in packed.namelist()
            if name.startswith(inside)
        }


def write_page(checkout: Path) -> dict[str, bytes]:
    """Put files in the place of a page that was built before."""
    files = {
        "index.html": b"<!doctype html><title>built before</title>",
        "assets/index-1a2b.js": b"export {}",
        ".vite/license.md": b"# Licenses",
    }
    for name, body in files.items():
        path = checkout / STATIC / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    return files


@pytest.fixture
def installed(backend: Path, checkout: Path, tmp_path: Path, without_node: str) -> Path:
    """A folder with the package of a wheel, made from an sdist where there is no Node."""
    write_page(checkout)
    sdist = built(build(backend, "build_sdist", checkout, tmp_path, {}), tmp_path)
    folder = unpacked(sdist, tmp_path / "sources")
    out = {"PATH": without_node, "STREAMWEIR_CONSOLE": "require"}
    wheel = built(build(backend, "build_wheel", folder, tmp_path, out), tmp_path)
    place = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(place)
    return place


def test_sdist_carries_the_built_page_and_its_sources(backend: Path, checkout: Path, tmp_path: Path) -> None:
    files = write_page(checkout)
    (checkout / "gateway/console/node_modules/lit").mkdir(parents=True)
    (checkout / "gateway/console/node_modules/lit/index.js").write_bytes(b"")
    folder = unpacked(
        built(build(backend, "build_sdist", checkout, tmp_path, {}), tmp_path), tmp_path / "sources"
    )
    assert {name: (folder / STATIC / name).read_bytes() for name in files} == files
    for name in ("hatch_build.py", "gateway/console/package-lock.json", "gateway/console/src/main.ts"):
        assert (folder / name).is_file()
    assert not (folder / "gateway/console/node_modules").exists()


@pytest.mark.anyio
async def test_page_of_a_wheel_from_an_sdist_is_served_without_node(installed: Path, tmp_path: Path) -> None:
    ports = free_port(), free_port()
    endpoints = {"/chat": {"upstream": "demo:legacy", "speaks": "legacy"}}
    file = tmp_path / "file.yaml"
    file.write_text(
        json.dumps(
            {
                "listen": f"127.0.0.1:{ports[0]}",
                "console": {"listen": f"127.0.0.1:{ports[1]}"},
                "endpoints": endpoints,
            }
        )
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "streamweir_gateway", "serve", str(file),
        env={**os.environ, "PYTHONPATH": str(installed)}, cwd=tmp_path, stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        await until_open(ports[1], "the gateway", 60)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{ports[1]}") as client:
            page, script = await client.get("/playground"), await client.get("/assets/index-1a2b.js")
        assert "built before" in page.text
        assert script.status_code == 200
    finally:
        process.terminate()
        await process.wait()


def test_wheel_without_npm_warns_and_has_no_page(
    backend: Path, checkout: Path, tmp_path: Path, without_node: str
) -> None:
    done = build(backend, "build_wheel", checkout, tmp_path, {"PATH": without_node})
    assert pages_of(built(done, tmp_path)) == {}
    assert "npm is not installed" in done.stdout + done.stderr


def test_wheel_without_npm_fails_if_the_page_is_required(
    backend: Path, checkout: Path, tmp_path: Path, without_node: str
) -> None:
    environment = {"PATH": without_node, "STREAMWEIR_CONSOLE": "require"}
    done = build(backend, "build_wheel", checkout, tmp_path, environment)
    assert done.returncode != 0
    assert "npm is not installed" in done.stderr
    assert [*tmp_path.glob("*.whl")] == []


def test_editable_wheel_builds_no_page(backend: Path, checkout: Path, tmp_path: Path) -> None:
    environment = {"STREAMWEIR_CONSOLE": "require"}
    built(build(backend, "build_editable", checkout, tmp_path, environment), tmp_path)
    assert not (checkout / STATIC).exists()
    assert not (checkout / "gateway/console/node_modules").exists()


@pytest.mark.skipif(shutil.which("npm") is None, reason="needs Node 20.19 and npm")
def test_wheel_builds_the_page_where_it_is_not_built(backend: Path, checkout: Path, tmp_path: Path) -> None:
    done = build(backend, "build_wheel", checkout, tmp_path, {"STREAMWEIR_CONSOLE": "require"})
    pages = pages_of(built(done, tmp_path))
    assert b"<script" in pages["index.html"]
    assert any(name.startswith("assets/") and name.endswith(".js") for name in pages)
