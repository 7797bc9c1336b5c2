"""The image of deploy/Dockerfile, built and run without a daemon and without a registry of images.

The base is a minimal Debian tree with Python. This machine's certificates and configuration of pip are copied
into it: pip inside then reaches the same package index. `make image` runs this file.
"""

import asyncio
import json
import os
import platform
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from places import ROOT
from ports import free_port, until_open

pytestmark = pytest.mark.image

CACHE: Final = ROOT / ".cache/image"
BASE_TREE: Final = CACHE / "base.tar"
OF_THIS_MACHINE: Final = (
    "/etc/pip.conf",
    "/etc/xdg/pip",
    "/etc/ssl/certs",
    "/usr/local/share/ca-certificates",
)
SOURCES: Final = (Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("debian*")))
BUILDAH: Final = (
    "buildah", "--storage-driver", "vfs", "--root", str(CACHE / "store"), "--runroot", str(CACHE / "run"),
)  # fmt: skip
WITHOUT_HELP: Final = ("--isolation", "chroot", "--pull-never", "--network", "host")
KEY: Final = "a-key-of-the-image-test"


def buildah(*arguments: str, timeout: float = 400) -> str:
    done = subprocess.run(
        [*BUILDAH, *arguments], capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, f"buildah {arguments[0]}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout.strip()


def make_base_tree() -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    part = BASE_TREE.with_suffix(".part.tar")
    packages = "--include=python3,python3-venv,ca-certificates"
    release = platform.freedesktop_os_release()["VERSION_CODENAME"]
    sources = [str(path) for path in SOURCES if path.is_file()]
    subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=apt", packages, release, str(part), *sources],
        check=True,
        timeout=400,
    )
    part.rename(BASE_TREE)


def make_base_image(place: Path) -> None:
    if not BASE_TREE.exists():
        make_base_tree()
    os.link(BASE_TREE, place / "base.tar")
    for path in map(Path, OF_THIS_MACHINE):
        if path.is_dir():
            shutil.copytree(
                path, place / "root" / path.relative_to("/"), symlinks=False, ignore_dangling_symlinks=True
            )
        elif path.exists():
            target = place / "root" / path.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    (place / "root/etc").mkdir(parents=True, exist_ok=True)
    (place / "Dockerfile").write_text("FROM scratch\nADD base.tar /\nCOPY root /\n")
    buildah("build", *WITHOUT_HELP, "--tag", "streamweir-test-base", str(place))


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of the image, built from the checkout."""
    for program in ("buildah", "mmdebstrap"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed: apt-get install buildah crun mmdebstrap")
    CACHE.mkdir(parents=True, exist_ok=True)
    context = CACHE / "context"
    shutil.rmtree(context, ignore_errors=True)
    context.mkdir()
    make_base_image(context)
    base = "BASE=localhost/streamweir-test-base"
    name = "streamweir-test"
    buildah("build", *WITHOUT_HELP, "--build-arg", base, "-f", "deploy/Dockerfile", "--tag", name, str(ROOT))
    yield name
    shutil.rmtree(context, ignore_errors=True)


@pytest.fixture
def container(image: str) -> Iterator[str]:
    name = buildah("from", "--pull-never", image)
    yield name
    buildah("rm", name)


def inside(container: str, *command: str) -> str:
    return buildah("run", "--isolation", "chroot", container, "--", *command, timeout=60)


@pytest.mark.timeout(900)
def test_image_holds_neither_sources_nor_a_compiler(container: str) -> None:
    assert inside(container, "/opt/streamweir/bin/streamweir", "--help")
    found = inside(
        container, "/bin/sh", "-c",
        "ls -d /src /pip /opt/streamweir/bin/pip* 2>/dev/null; command -v gcc cc make git; true",
    )  # fmt: skip
    assert found == ""
    assert inside(container, "/usr/bin/id", "-u") == "10001"


@pytest.mark.timeout(900)
def test_image_carries_the_page_of_the_console(container: str) -> None:
    code = "from streamweir_gateway.console.page import STATIC; print((STATIC / 'index.html').read_text())"
    assert "<script" in inside(container, "/opt/streamweir/bin/python", "-c", code)


@pytest.mark.timeout(900)
def test_image_serves_a_stream_on_a_tree_that_it_cannot_write(container: str) -> None:
    port = free_port()
    mount = f"{ROOT}/deploy/config.yaml:/etc/streamweir/config.yaml:ro"
    listen = f"127.0.0.1:{port}"
    options = ["--isolation", "chroot", "--volume", mount, "--env", f"STREAMWEIR_KEY={KEY}"]
    program = ["/opt/streamweir/bin/streamweir", "serve", "/etc/streamweir/config.yaml", "--listen", listen]
    command = [*BUILDAH, "run", *options, container, "--", *program]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as process:
        try:
            asyncio.run(until_open(port, "the image", within=60))
            request = urllib.request.Request(
                f"http://{listen}/chat",
                data=json.dumps({"message": "Hello"}).encode(),
                headers={"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=30) as answer:
                body = answer.read().decode()
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)
    last = json.loads(body.strip().rpartition("data: ")[2])
    assert last["type"] == "session_end"
    assert last["data"]["status"] == "completed"
