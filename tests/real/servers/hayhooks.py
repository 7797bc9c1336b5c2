"""hayhooks with an agent of Haystack: chat completions and responses."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from common_cases import CUT, HAPPY, LEFT, RAISED_CAUGHT, REFUSED, TOOLS, at
from real_servers import APPS, Fields, Place, Server

PATHS: Final = {
    "/chat": ("openai-chat", "/v1/chat/completions"),
    "/responses": ("openai-responses", "/v1/responses"),
}
UNKNOWN: Final = [replace(case, codes=("UPSTREAM_TRUNCATED",)) for case in REFUSED]
"""What its model refuses it does not let out: the body breaks off."""

CASES: Final = (HAPPY, *UNKNOWN, CUT, LEFT)
AGENT: Final = (TOOLS, replace(RAISED_CAUGHT, calls=("success",)))
"""Its agent shows its calls and not what came of them; in responses they look like the client's own."""


def command(place: Place) -> Sequence[str]:
    """`hayhooks run`, which finds a wrapper in each folder of a folder."""
    folder = place.folder / "pipelines"
    (folder / "travel").mkdir(parents=True)
    wrapper = (APPS / "hayhooks_pipeline.py").read_text()
    (folder / "travel" / "pipeline_wrapper.py").write_text(wrapper)
    options = ("--host", "127.0.0.1", "--port", str(place.port), "--pipelines-dir", str(folder))
    start = "from hayhooks.cli import hayhooks_cli; hayhooks_cli()"  # it has no module to run
    return ("-c", start, "run", *options)


def gateway(place: Place) -> Fields:
    return {
        "upstreams": {
            path[1:]: {"url": f"{place.url}{target}", "speaks": speaks, "breaker": "off"}
            for path, (speaks, target) in PATHS.items()
        },
        "endpoints": {
            path: {"upstream": path[1:], "request": {"mapped": {"model": "travel"}}} for path in PATHS
        },
    }


SERVER: Final = Server(
    requirements=("hayhooks==2.1.0", "haystack-ai==3.4.0", "openai==3.54.0", "fastapi-openai-compat==1.4.0"),
    command=command,
    variables=lambda place: {"MODEL": f"{place.model}/asked/v1", "HAYSTACK_TELEMETRY_ENABLED": "False"},
    gateway=gateway,
    ready="/status",
    cases=[*at("/chat", (*CASES, *AGENT)), *at("/responses", CASES)],
)
