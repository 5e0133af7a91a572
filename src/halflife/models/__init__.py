"""Statistical models of change: arrays in, arrays out."""
