"""Rules that keep the records of a local relation fresh through queries."""
