"""A LangGraph app that writes the chat envelope, behind the gateway and under the middleware."""

from dataclasses import replace
from typing import Final

from common_cases import CUT, HAPPY, LEFT, REFUSED, TOOLS
from real_servers import ROOT, Case, Fields, Place, Server, served_app

INTERRUPT: Final = Case(scenario="interrupt", status="suspended")
CRASH: Final = replace(CUT, scenario="crash", codes=("UPSTREAM_TRUNCATED", "UPSTREAM_UNREACHABLE"))
CASES: Final = (HAPPY, TOOLS, *REFUSED, CUT, CRASH, INTERRUPT, LEFT)
FORMS: Final = ("new", "flat")


def body(place: Place, question: str) -> Fields:
    """What a page of the app sends."""
    return {"message": question, "scenario": question.partition("scenario=")[2].split()[0]}


def gateway(place: Place) -> Fields:
    return {
        "upstreams": {
            form: {"url": f"{place.url}/chat/{form}", "speaks": "stream-envelope", "breaker": "off"}
            for form in FORMS
        },
        "endpoints": {f"/{form}": {"upstream": form} for form in FORMS},
    }


SERVER: Final = Server(
    requirements=(
        *("langgraph==1.2.22", "langchain-openai==1.7.3", "fastapi>=0.115,<1", "uvicorn>=0.30,<1"),
        *("--editable", str(ROOT)),
    ),
    command=served_app("langgraph_envelope"),
    variables=lambda place: {"MODEL": place.model},
    gateway=gateway,
    cases=[
        replace(case, path=f"{door}{form}", is_direct=door != "/", writes=body)
        for door in ("/", "/normalized/chat/")
        for form in FORMS
        for case in CASES
    ],
)
