"""Which databases to send a query to."""
