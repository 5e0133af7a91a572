"""How things change: arrays in, arrays out."""
