"""Rules for models that clients choose: the other keys of their endpoint, and the upstream of each model."""

from __future__ import annotations

from typing import Final

from streamweir.codec.dialects import Dialects
from streamweir.yaml_files.report import KeyPath, Report
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.diagnostics import quoted, suggestion
from streamweir_gateway.config.models import EndpointConfig, ModelConfig
from streamweir_gateway.config.rules.names import check_name, check_repetition
from streamweir_gateway.config.rules.requests import check_request
from streamweir_gateway.config.values.path_templates import placeholders

__all__ = ["check_models"]

_LONGEST_NAME: Final = 256
_SHOWN: Final = 40


def check_models(endpoint: EndpointConfig, dialects: Dialects, report: Report) -> None:
    """Report problems of the models of an endpoint."""
    path: KeyPath = ("endpoints", endpoint.template, "models")
    if not endpoint.models:
        return
    if not endpoint.chooses:
        report.at_key(path, "stands in place of `upstream`: an endpoint has one of them")
        return
    if endpoint.relays_all:
        report.at_key(path, "cannot be chosen from where `relay: all` lets everything through")
    if endpoint.resume is not None:
        report.at_key(path, "cannot be chosen from where runs are kept (`resume`)")
    for long in (name for name in endpoint.models if len(name) > _LONGEST_NAME):
        report.at_key(path, f"has a name of more than {_LONGEST_NAME} characters: {long[:_SHOWN]}...")
    own = placeholders(endpoint.template)
    for name, model in endpoint.models.items():
        if model.alias is not None:
            _check_alias(model, (*path, name), endpoint, report)
            continue
        if not model.upstream:
            report.at_key((*path, name), "the key 'upstream' is missing")
            continue
        check_repetition(model.upstream, (*path, name, "upstream"), report)
        if model.path is not None and not isinstance(model.path, Unresolved):
            for wanted in placeholders(model.path):
                if wanted not in own:
                    detail = f": {quoted(wanted)}{suggestion(wanted, own)}"
                    message = "has a name that the endpoint's own path lacks"
                    report.at_value((*path, name, "path"), message, detail)
        check_request(endpoint.for_model(name), dialects, report, at=(*path, name))


def _check_alias(model: ModelConfig, path: KeyPath, endpoint: EndpointConfig, report: Report) -> None:
    """Report an alias that has other keys, or that does not name a model with an upstream."""
    assert model.alias is not None
    beside = sorted(model.model_fields_set - {"alias"})
    if beside:
        report.at_key((*path, beside[0]), "cannot stand beside `alias`, which names another model as it is")
    check_name(model.alias, (*path, "alias"), endpoint.models, "model", report)
    if model.alias in endpoint.models and endpoint.models[model.alias].alias is not None:
        report.at_value((*path, "alias"), "names a model that is an alias itself", f": {model.alias}")
