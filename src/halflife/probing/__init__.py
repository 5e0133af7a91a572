"""Summaries of databases that answer only queries."""
