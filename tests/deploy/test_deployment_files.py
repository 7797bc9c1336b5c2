"""Each file of deploy/ parses, and the program that reads it accepts it where that program is installed."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
from ruamel.yaml import YAML

from command_line import run
from places import ROOT
from yaml_mapping import read

DEPLOY: Final = ROOT / "deploy"
DOCKERFILE: Final = (DEPLOY / "Dockerfile").read_text()
UNIT: Final = "streamweir.service"
PROGRAM: Final = "/opt/streamweir/bin/streamweir"


def kubernetes() -> list[dict[str, Any]]:
    files = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    assert files
    return [json.loads(json.dumps(each)) for file in files for each in YAML(typ="safe").load_all(file)]


def of_kind(kind: str) -> dict[str, Any]:
    (found,) = (each for each in kubernetes() if each["kind"] == kind)
    return found


def compose() -> dict[str, Any]:
    return read((DEPLOY / "compose.yaml").read_text())


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, continued lines joined."""
    lines = re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.M).replace("\\\n", " ").splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines) if word]


def values_of(word: str) -> list[str]:
    return [rest for name, rest in instructions() if name == word]


def test_every_base_of_the_image_is_an_argument() -> None:
    assert values_of("ARG") == [f"BASE={values_of('ARG')[0].partition('=')[2]}"]
    assert all(base.split()[0] == "${BASE}" for base in values_of("FROM"))
    assert len(values_of("FROM")) == 2, "one stage builds, the other one runs"


def test_image_runs_as_a_numeric_user_without_a_shell() -> None:
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", values_of("USER")[-1])
    for word in ("ENTRYPOINT", "CMD"):
        assert all(json.loads(value) for value in values_of(word)), "exec form"
    assert json.loads(values_of("ENTRYPOINT")[-1]) == [PROGRAM]


def test_image_is_built_from_the_sources_alone() -> None:
    first, *allowed = [
        line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")
    ]
    assert first == "*"
    taken = [line[1:] for line in allowed if line.startswith("!")]
    assert all((ROOT / path).exists() for path in taken)
    assert not {"tests", "docs", ".git", "config.yaml"} & set(taken)


def images() -> dict[str, str]:
    """Each image that a file of deploy/ names, by the place of the name."""
    stages = {rest.partition(" AS ")[2] for rest in values_of("FROM")}
    copied = [match[1] for rest in values_of("COPY") if (match := re.search(r"--from=(\S+)", rest))]
    bases = [value.partition("=")[2] for value in values_of("ARG")]
    pods = [each["spec"]["template"]["spec"] for each in kubernetes() if each["kind"] == "Deployment"]
    return {
        **{f"Dockerfile, base {base}": base for base in bases},
        **{f"Dockerfile, copied {image}": image for image in copied if image not in stages},
        **{f"compose, {name}": service["image"] for name, service in compose()["services"].items()},
        **{f"kubernetes, {each['name']}": each["image"] for pod in pods for each in pod["containers"]},
    }


def test_image_installs_with_the_settings_of_its_base_alone() -> None:
    commands = [part for rest in values_of("RUN") for part in rest.split("&&")]
    options = {option for part in commands for option in re.findall(r"(?<=\s)-{1,2}[a-z][a-z-]*", part)}
    assert options == {"-m", "--without-pip", "--python", "--no-cache-dir"}
    assert values_of("ENV") == []


def has_host(image: str) -> bool:
    """Whether the first component of an image reference names a host."""
    first, slash, _ = image.partition("/")
    return bool(slash) and (first == "localhost" or any(mark in first for mark in ".:"))


def test_image_reference_of_a_deployment_has_no_host() -> None:
    assert len(images()) >= 4
    assert [place for place, image in images().items() if has_host(image)] == []


@pytest.mark.parametrize(
    "path", sorted(path.relative_to(DEPLOY) for path in DEPLOY.rglob("*") if path.is_file()), ids=str
)
def test_deployment_file_names_no_foreign_url(path: Path) -> None:
    text = (DEPLOY / path).read_text()
    hosts = re.findall(r"\bhttps?://([\w.-]+\.\w+)", text)
    assert [host for host in hosts if not re.fullmatch(r"127(\.\d+){3}|[\w.-]+\.(example|svc)", host)] == []


def test_compose_publishes_the_port_of_the_gateway_alone() -> None:
    services = compose()["services"]
    assert [name for name, service in services.items() if "ports" in service] == ["gateway"]
    assert all(str(port).startswith("127.0.0.1:") for port in services["gateway"]["ports"])
    assert all("healthcheck" in service for service in services.values())
    assert services["gateway"]["depends_on"]["store"]["condition"] == "service_healthy"
    for mount in services["gateway"]["volumes"]:
        assert (DEPLOY / mount.split(":")[0]).exists()
    assert (DEPLOY / services["gateway"]["build"]["context"] / "deploy/Dockerfile").samefile(
        DEPLOY / "Dockerfile"
    )


def test_pod_has_no_rights_and_no_secret_of_its_own() -> None:
    pod = of_kind("Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    for variable in container["env"]:
        assert set(variable["valueFrom"]) == {"secretKeyRef"}, "a secret is named, not written"
    assert {mount["name"] for mount in container["volumeMounts"]} == {
        volume["name"] for volume in pod["volumes"]
    }


def test_kubernetes_objects_select_the_pods_of_the_deployment() -> None:
    labels = of_kind("Deployment")["spec"]["template"]["metadata"]["labels"]
    for selector in (
        of_kind("Deployment")["spec"]["selector"]["matchLabels"],
        of_kind("Service")["spec"]["selector"],
        of_kind("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
    ):
        assert selector.items() <= labels.items()
    assert "Secret" not in {each["kind"] for each in kubernetes()}


def test_grace_periods_outlast_drain_and_slow_clients() -> None:
    drain, write = 30, 30  # the defaults of server.drain and timeouts.write, which these files leave alone
    pod = of_kind("Deployment")["spec"]["template"]["spec"]
    grace = {
        "kubernetes": pod["terminationGracePeriodSeconds"],
        "compose": int(compose()["services"]["gateway"]["stop_grace_period"].removesuffix("s")),
        "systemd": int(re.findall(r"^TimeoutStopSec=(\d+)$", (DEPLOY / UNIT).read_text(), re.M)[0]),
    }
    assert all(seconds >= drain + write + 10 for seconds in grace.values()), grace


@pytest.mark.parametrize("where", ["image", "kubernetes"])
def test_configuration_of_a_deployment_is_good(where: str, tmp_path: Path) -> None:
    file = DEPLOY / "config.yaml"
    if where == "kubernetes":
        file = tmp_path / "config.yaml"
        file.write_text(of_kind("ConfigMap")["data"]["config.yaml"])
    done = run("check", str(file))
    assert done.returncode == 0, done.stderr
    assert b"0.0.0.0:8080" in done.stdout


@pytest.fixture
def scratch_root(tmp_path: Path) -> Path:
    """A root directory with the units of this machine, the unit and the program that it starts."""
    units = Path("/lib/systemd/system")
    if not shutil.which("systemd-analyze") or not units.is_dir():
        pytest.skip("systemd is not installed")
    shutil.copytree(units, tmp_path / "lib/systemd/system", symlinks=True)
    for program in (PROGRAM, "/bin/kill"):
        place = tmp_path / program[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy("/bin/true", place)
    (tmp_path / "etc/systemd/system").mkdir(parents=True)
    shutil.copy(DEPLOY / UNIT, tmp_path / "etc/systemd/system")
    return tmp_path


def test_unit_is_verified_and_enabled_by_systemd(scratch_root: Path) -> None:
    verified = subprocess.run(
        ["systemd-analyze", f"--root={scratch_root}", "verify", UNIT],
        capture_output=True,
        check=False,
    )
    assert (verified.returncode, verified.stderr) == (0, b""), verified.stderr.decode()
    subprocess.run(
        ["systemctl", f"--root={scratch_root}", "enable", UNIT], capture_output=True, check=True, timeout=30
    )
    assert (scratch_root / "etc/systemd/system/multi-user.target.wants" / UNIT).is_symlink()
