"""What ASGI applications share: negotiation, response headers, refusals. Loading it may load starlette."""
