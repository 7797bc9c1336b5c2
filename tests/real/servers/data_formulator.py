"""Data Formulator 0.7: its agent, loading chat, report and recommended questions."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from common_cases import CUT, HAPPY, HIDDEN, LEFT, REFUSED, TOOLS, at
from real_servers import Case, Fields, Place, Server

TARGETS: Final = {
    "/agent": "data-agent-streaming",
    "/loading": "data-loading-chat",
    "/report": "generate-report-chat",
    "/questions": "get-recommendation-questions",
}
TABLES: Final = [
    {"name": "sales", "rows": [{"region": "east", "amount": 3}, {"region": "west", "amount": 5}]}
]
CHART: Final = {
    "chart_id": "c1",
    "chart_type": "Bar Chart",
    "encodings": {"x": "region", "y": "amount"},
    "table_ref": "sales",
}
CALLED: Final = replace(TOOLS, is_parallel=False)
"""It runs its tools one after the other."""
UNAUTHORIZED, LIMITED, FAILED = REFUSED


def body(place: Place, question: str, path: str, scenario: str) -> Fields:
    """What its page sends."""
    model = {
        "id": "m1",
        "endpoint": "openai",
        "model": "gpt-4o-mini",
        "api_key": "sk-fake",
        "api_base": f"{place.model}/{scenario}/formulator/v1",
    }
    bodies: dict[str, dict[str, Any]] = {
        "/agent": {"input_tables": TABLES, "user_question": question},
        "/loading": {"messages": [{"role": "user", "content": question}]},
        "/report": {"input_tables": TABLES, "charts": [CHART], "user_prompt": question},
        "/questions": {"input_tables": TABLES},
    }
    return {"model": model, **bodies[path]}


def cases() -> Iterator[Case]:
    """Everything that is asked; of a wrong key its agent only says `Model request failed`."""
    yield from at("/agent", (HAPPY, CALLED, HIDDEN[0], LIMITED, FAILED, replace(CUT, texts=())))
    yield Case(path="/agent", scenario="interrupt", status="suspended")
    yield from at("/loading", (HAPPY, CALLED, *REFUSED, CUT, LEFT))
    yield from at("/report", (HAPPY, LIMITED))
    yield from at("/questions", (LIMITED,))


def written(case: Case) -> Case:
    return replace(case, writes=lambda place, question: body(place, question, case.path, case.scenario))


def gateway(place: Place) -> Fields:
    return {
        "upstreams": {
            path[1:]: {
                "url": f"{place.url}/api/agent/{target}",
                "speaks": "data-formulator",
                "breaker": "off",
            }
            for path, target in TARGETS.items()
        },
        "endpoints": {
            path: {"upstream": path[1:], "forward_headers": ["X-Workspace-Id"]} for path in TARGETS
        },
    }


SERVER: Final = Server(
    # its own dependency litellm imports mcp where tools are called, and does not ask for it
    requirements=("data_formulator==0.7.0", "litellm==1.106.2", "mcp>=2,<3"),
    command=lambda place: (
        *("-m", "data_formulator", "--port", str(place.port), "--data-dir", str(place.folder)),
    ),
    variables=lambda place: {"BROWSER": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    gateway=gateway,
    cases=[written(case) for case in cases()],
    unwatched="the loading chat reads its model to the end",
)
