"""The kinds of source, one folder each."""
