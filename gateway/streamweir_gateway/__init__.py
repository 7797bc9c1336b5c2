"""The deployable proxy: configuration, routing, upstreams and the command line around `streamweir`."""
