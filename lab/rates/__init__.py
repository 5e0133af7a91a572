"""Estimators of change rates that no policy goes by; docs/estimators.md compares."""
