"""What to ask a source that only answers queries."""
