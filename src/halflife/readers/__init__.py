"""Readers of answers: text, maps, markup, records."""
