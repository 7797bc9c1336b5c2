"""What the gateway tells its operators."""
