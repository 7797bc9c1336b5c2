"""Access control: keys, rate limits and pages of other origins. It runs once per request, not per event."""
