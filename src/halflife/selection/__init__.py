"""Which databases to send a query to, by what is known of their words."""
