"""LlamaIndex's workflow server with an agent: a run is started, then its events are followed."""

from typing import Final

from common_cases import APPROVE, CUT, GRANTED, HAPPY, LEFT, RAISED_CAUGHT, REASONING, REFUSED, TOOLS, asked
from real_servers import Server, mapped, served_app

SERVER: Final = Server(
    requirements=(
        *("llama-agents-server==0.8.0", "llama-index-workflows==2.26.1", "llama-index-core==0.14.25"),
        *("llama-index-llms-openai-like==0.8.1", "llama-index-llms-openai==0.8.3", "uvicorn>=0.30,<1"),
    ),
    command=served_app("llama_agent"),
    variables=lambda place: {"MODEL": f"{place.model}/asked/v1"},
    gateway=mapped("llama-workflows", "/workflows/travel/run-nowait"),
    cases=[
        *(HAPPY, TOOLS, REASONING, *REFUSED, RAISED_CAUGHT, CUT, LEFT),
        asked(APPROVE, then=GRANTED),
    ],
    unwatched="a run belongs to the server, and nobody has to follow its events",
)
