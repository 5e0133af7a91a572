"""Recorded histories, from files and repositories."""
