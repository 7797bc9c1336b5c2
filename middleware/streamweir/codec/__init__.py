"""The kit that dialects are made with: what one is, the set of them, what their readers and writers share."""
