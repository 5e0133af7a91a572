"""A simulated web site that changes, to try halflife without a network."""
