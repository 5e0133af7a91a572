"""Measured figures, each printed by ``halflife bench``."""
