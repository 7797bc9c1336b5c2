"""Options and their grammar: durations, sizes, limits, timeouts."""
