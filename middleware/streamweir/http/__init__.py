"""The parts of HTTP that concern streams: `Accept`, response headers, the envelope of a refusal."""
