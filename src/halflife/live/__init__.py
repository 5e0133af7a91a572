"""From settings to a running system: what the surfaces share."""
