"""A stream on its way to one client, for every host: it knows no ASGI, no asyncio and no trio."""
