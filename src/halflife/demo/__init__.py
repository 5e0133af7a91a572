"""A small web that changes, to see halflife at work without a network."""
