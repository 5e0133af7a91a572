"""Keeping the records of a local relation fresh through queries."""
