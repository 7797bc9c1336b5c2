"""Delivers a stream to one client, for every host: without ASGI, asyncio or trio."""
