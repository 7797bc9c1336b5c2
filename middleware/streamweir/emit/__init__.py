"""Streams that an application makes itself: by an engine, from an iterator, by events as text."""
