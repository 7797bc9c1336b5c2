"""Models that clients choose from: what stands beside them, and what each of them comes to."""

from __future__ import annotations

from streamweir.codec.dialects import Dialects
from streamweir.yaml_files.report import KeyPath, Report
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.diagnostics import quoted, suggestion
from streamweir_gateway.config.models import EndpointConfig
from streamweir_gateway.config.rules.requests import check_request
from streamweir_gateway.config.values.path_templates import placeholders

__all__ = ["check_models"]


def check_models(endpoint: EndpointConfig, dialects: Dialects, report: Report) -> None:
    """Report what is wrong with the models of an endpoint."""
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
    own = placeholders(endpoint.template)
    for name, model in endpoint.models.items():
        if model.path is not None and not isinstance(model.path, Unresolved):
            for wanted in placeholders(model.path):
                if wanted not in own:
                    detail = f": {quoted(wanted)}{suggestion(wanted, own)}"
                    message = "has a name that the endpoint's own path lacks"
                    report.at_value((*path, name, "path"), message, detail)
        check_request(endpoint.for_model(name), dialects, report, at=(*path, name))
