"""Models that refuse a history as the real services do, and notice a changed byte.

    model = StrictAnthropic()
    async with upstream(model) as server:      # of `scripted_upstream`
        ...                                    # requests of a gateway before server.url
    assert not model.refusals
    assert len(model.accepted) == 3

Each plays the turns of `script.STEPS` one after the other: the number of the assistant's turns in a request
says which one is next. A model remembers its turns, and compares those of a request with them; a call that it
has not made is refused.
"""

from strict_upstreams.anthropic import StrictAnthropic
from strict_upstreams.chat import StrictChat
from strict_upstreams.gemini import StrictGemini
from strict_upstreams.model import StrictModel
from strict_upstreams.responses import StrictResponses
from strict_upstreams.script import STEPS, Step

__all__ = [
    "STEPS",
    "Step",
    "StrictAnthropic",
    "StrictChat",
    "StrictGemini",
    "StrictModel",
    "StrictResponses",
]
