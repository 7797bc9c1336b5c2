"""Refusals that are remembered: for a while, by model, a bounded number of them."""

from streamweir_gateway.requests.refused_fields import RefusedFields


def test_refused_fields_are_known_for_ten_minutes() -> None:
    now = [0.0]
    refused = RefusedFields(lambda: now[0])
    refused.note("m", "unsupported")
    assert refused.words_for("m") == "unsupported"
    assert refused.words_for("other") is None
    now[0] = 601.0
    assert refused.words_for("m") is None


def test_refused_fields_of_too_many_models_are_forgotten() -> None:
    refused = RefusedFields()
    for number in range(101):
        refused.note(f"m{number}", "unsupported")
    assert refused.words_for("m0") is None
    assert refused.words_for("m100") == "unsupported"
    refused.forget("m100")
    assert refused.words_for("m100") is None
