"""The script of the strict models: two rounds of tools, the second one with parallel calls, and an answer."""

from typing import Final, NamedTuple

__all__ = ["STEPS", "Step"]


class Step(NamedTuple):
    """One turn.

    Attributes:
        thoughts: its pieces of thinking, each signed; an empty one has no text.
        text: its text; empty: none.
        calls: name and arguments of its calls, as JSON that no writer makes: spaces, numbers beyond doubles.
    """

    thoughts: tuple[str, ...] = ()
    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()


STEPS: Final = (
    Step(
        ("Ulm lies on the Danube.\nI ask for “it”.",),
        "I look it up.",
        (("weather", '{"city": "Ülm",  "station": 12345678901234567890, "height": 1.0}'),),
    ),
    Step(
        ("", "Now the wind, twice."),
        "",
        (("wind", '{ "city":"Ulm"}'), ("weather", '{"city": "Paris"}')),
    ),
    Step(("So it is warm.",), "It is warm in Ulm. 很暖和。"),
)
