"""Streams of an application's own events: made by an engine, from an iterator, or of events as text."""
