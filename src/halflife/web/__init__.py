"""The page people look at: ``halflife serve``."""
