"""What HTTP has to do with streams: `Accept`, response headers, the envelope of a refusal."""
