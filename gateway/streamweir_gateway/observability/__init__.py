"""Log, metrics and trace of the gateway."""
