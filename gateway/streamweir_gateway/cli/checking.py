"""The work of `streamweir check`; importing it needs the extra `gateway`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from streamweir_gateway.cli.addresses import address_text
from streamweir_gateway.cli.banner import callers, in_order
from streamweir_gateway.cli.command import BAD_CONFIGURATION, FAILED, OK, UsageError
from streamweir_gateway.cli.configuration import load
from streamweir_gateway.cli.effective import effective_facts, effective_lines
from streamweir_gateway.cli.own_dialects import add_dialects
from streamweir_gateway.config import ConfigErrors, EndpointConfig, GatewayConfig

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Check the file; print its values, or its problems."""
    add_dialects(args.own_dialects)
    try:
        config = load(args.config, demand_secrets=args.env or args.probe)
    except ConfigErrors as errors:
        if args.json:
            print(json.dumps(_problems(args.config, errors), indent=2, ensure_ascii=False))
        else:
            print(errors, file=sys.stderr)
        return BAD_CONFIGURATION
    for remark in config.remarks:
        print(remark, file=sys.stderr)
    if args.probe:
        return _probe(args, config)
    if args.json:
        effective = {"effective": effective_facts(args.config)} if args.print_effective else {}
        print(json.dumps(_facts(args.config, config) | effective, indent=2, ensure_ascii=False))
    elif args.print_effective:
        print("\n".join(effective_lines(args.config)))
    else:
        print("\n".join(_summary(args.config, config)))
    return OK


def _probe(args: argparse.Namespace, config: GatewayConfig) -> int:
    """Send a request to every upstream; print the findings."""
    from streamweir_gateway.cli.probing import probe_all  # noqa: PLC0415 - it loads the whole gateway

    try:
        data = None if args.data is None else json.loads(args.data)
    except ValueError as error:
        raise UsageError(f"--data is no JSON: {error}") from error
    probes = probe_all(config, data)
    if args.json:
        found = [{"endpoint": probe.endpoint, "ok": probe.is_well} | dict(probe.facts()) for probe in probes]
        print(json.dumps({"file": args.config, "probes": found}, indent=2, ensure_ascii=False))
    else:
        print("\n".join(line for probe in probes for line in probe.lines()))
    return OK if all(probe.is_well for probe in probes) else FAILED


def _problems(file: str, errors: ConfigErrors) -> dict[str, Any]:
    names = ("line", "column", "path", "message")
    problems = [{name: getattr(problem, name) for name in names} for problem in errors.problems]
    return {"file": file, "ok": False, "problems": problems}


def _facts(file: str, config: GatewayConfig) -> dict[str, Any]:
    return {
        "file": file,
        "ok": True,
        "listen": address_text(config.listen),
        "dialects": list(config.dialects),
        "remarks": list(config.remarks),
        "endpoints": [
            {
                "path": endpoint.template,
                "methods": endpoint.listed_methods,
                "upstreams": [
                    {"upstream": upstream.label, "speaks": upstream.speaks} for upstream in endpoint.upstreams
                ],
                "answers": endpoint.answers,
                "framing": endpoint.framing,
                "auth": "open" if endpoint.needs_no_key else endpoint.auth,
            }
            for endpoint in config.endpoints
        ],
    }


def _summary(file: str, config: GatewayConfig) -> Iterator[str]:
    own = f"{_number(len(config.dialects), 'dialect')}" if config.dialects else ""
    if not config.endpoints:
        yield f"{file} is good: {own}"
        return
    parts = ", ".join(filter(None, (_number(len(config.endpoints), "endpoint"), own)))
    yield f"{file} is good: {parts} on {address_text(config.listen)}"
    width = max(len(_request(endpoint)) for endpoint in config.endpoints)
    for endpoint in config.endpoints:
        labels = dict.fromkeys(f"{upstream.label} ({upstream.speaks})" for upstream in endpoint.upstreams)
        sources = in_order(endpoint, labels)
        answers = ", ".join(endpoint.answers)
        yield f"  {_request(endpoint):{width}}  from {sources} to {answers}{callers(config, endpoint)}"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"


def _request(endpoint: EndpointConfig) -> str:
    methods = "any" if endpoint.takes_any_method else "|".join(endpoint.methods)
    return f"{methods} {endpoint.template}"
