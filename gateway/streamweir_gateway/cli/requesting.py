"""Computes the requests that an endpoint would send, for `streamweir request --endpoint`."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any, Final

from streamweir.codec.dialects import Dialects
from streamweir.errors import ConfigurationError
from streamweir.http.path_template import PathTemplate
from streamweir.jsontext import write_json_text
from streamweir.requests.errors import RequestError
from streamweir.requests.reading import parse_body
from streamweir.requests.writing import made_ids, shown
from streamweir.requests.written import Written
from streamweir.translation.requests import read_request
from streamweir_gateway.cli.command import BAD_CONFIGURATION, OK, CommandFailed, UsageError
from streamweir_gateway.cli.configuration import load
from streamweir_gateway.cli.dialect_options import dialect_options
from streamweir_gateway.cli.given_request import body_of, print_refusal
from streamweir_gateway.config import EndpointConfig, GatewayConfig, UpstreamConfig
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.observability.trace_context import trace_context_of
from streamweir_gateway.requests.offers import Offer
from streamweir_gateway.requests.request_mapping import request_mapping
from streamweir_gateway.requests.request_sequence import whole_headers
from streamweir_gateway.runs.admission import Admissions
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.requested_model import requested_model
from streamweir_gateway.upstream.client import UpstreamClient
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.via import Via

__all__ = ["run"]

_NOT_SHOWN: Final = frozenset(
    {"authorization", "cookie", "x-api-key", "api-key", "x-request-id", "traceparent", "tracestate", "via"}
)
"""Headers that are not printed: those with credentials, and those that differ for each request."""

_DEMO: Final = "http://127.0.0.1"


def run(args: argparse.Namespace) -> int:
    """Print the requests of the endpoint, and return the exit code.

    Raises:
        UsageError: the endpoint does not exist, or no upstream of it speaks the dialect.
        CommandFailed: the file cannot be used.
    """
    try:
        config = load(args.config, demand_secrets=False)
    except ConfigurationError as errors:
        raise CommandFailed(f"{args.config} cannot be used:\n{errors}", BAD_CONFIGURATION) from errors
    endpoint, path_params = _endpoint(config, args.endpoint)
    protocol = args.protocol or endpoint.answers[0]
    try:
        print(write_json_text(_planned(args, config, endpoint, path_params, protocol)))
    except RequestError as error:
        return print_refusal(error)
    except ConfigurationError as error:
        raise UsageError(str(error)) from error
    return OK


def _endpoint(config: GatewayConfig, path: str) -> tuple[EndpointConfig, dict[str, str]]:
    for endpoint in config.endpoints:
        if endpoint.template == path:
            return endpoint, {name: name for name in PathTemplate(path).match(path) or {}}
    for endpoint in config.endpoints:
        if (values := PathTemplate(endpoint.template).match(path)) is not None:
            return endpoint, values
    names = ", ".join(endpoint.template for endpoint in config.endpoints)
    raise UsageError(f"--endpoint {path}: there is none (known: {names})")


def _planned(
    args: argparse.Namespace,
    config: GatewayConfig,
    endpoint: EndpointConfig,
    path_params: dict[str, str],
    protocol: str,
) -> dict[str, Any]:
    """Return the output: the requests, the lost fields, and the canonical request."""
    dialects = config.known_dialects
    endpoint = endpoint.model_copy(
        update={"protocol_options": {**endpoint.protocol_options, **dialect_options(args.option)}}
    )
    dialects.checked_options(endpoint.protocol_options)
    dialects.to_write(protocol)
    body = body_of(args)
    endpoint = _of_model(endpoint, body)
    destination = _destination(endpoint, _upstream(args, endpoint), dialects)
    incoming = Incoming("req_shown", "POST", path_params, [], b"", protocol, "sse", trace_context_of([]), 0)
    mapping = request_mapping(endpoint, dialects, None, new_id=made_ids)
    offer = Offer([Written(parse_body(body))])
    if mapping is not None:
        offer = asyncio.run(mapping.offers(incoming, body, [destination]))[destination]
    base = destination.request(incoming)
    reads = dialects[protocol].reads_requests
    canonical = read_request(body, protocol=dialects[protocol]) if reads else None
    return {
        "requests": [_shown(written, base) for written in offer.written or ()],
        "lost": [*offer.lost],
        "request": canonical,
    }


def _destination(endpoint: EndpointConfig, upstream: UpstreamConfig, dialects: Dialects) -> Destination:
    """Return a destination for the upstream. No request is sent to it."""
    return Destination(
        endpoint,
        upstream,
        _DEMO if upstream.demo is not None else upstream.url,
        client=UpstreamClient(),
        admission=Admissions().of(upstream),
        dialects=dialects,
        via=Via(),
        debug=False,
    )


def _shown(written: Written, base: UpstreamRequest) -> dict[str, Any]:
    """Return a request as it is printed, without the headers that every request has."""
    named = whole_headers(base.headers, written)
    headers = {name: value for name, value in named if name.lower() not in _NOT_SHOWN}
    return {**shown(written, base.target), "headers": headers}


def _of_model(endpoint: EndpointConfig, body: bytes) -> EndpointConfig:
    """Return the endpoint as the model in the body chooses it; without `models`, the endpoint itself."""
    if not endpoint.models:
        return endpoint
    model = requested_model(parse_body(body))
    if model is None:
        raise RequestError("the request must name a `model`")
    if model not in endpoint.models:
        known = ", ".join(endpoint.models)
        raise UsageError(f"{endpoint.template} has no model {model!r} (known: {known})")
    return endpoint.for_model(model)


def _upstream(args: argparse.Namespace, endpoint: EndpointConfig) -> UpstreamConfig:
    """Return the endpoint's first upstream, or the first one that speaks the dialect of `--to`."""
    if args.dialect is None:
        return endpoint.upstreams[0]
    for upstream in endpoint.upstreams:
        if upstream.speaks == args.dialect:
            return upstream
    raise UsageError(f"--to {args.dialect}: no upstream of {endpoint.template} speaks it")
