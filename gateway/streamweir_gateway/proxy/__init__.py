"""One request: which upstream is asked, how its stream is relayed and watched, and how it ends."""
