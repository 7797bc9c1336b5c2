"""Streams that an application makes itself: the engine, any iterator as a stream, events put in as text."""
