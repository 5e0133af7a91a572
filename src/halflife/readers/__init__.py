"""Readers of what sources answer: text, maps, markup, records."""
