"""Who may call: keys, rate limits, pages of other origins. Judged once per request, never per event."""
