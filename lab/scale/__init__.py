"""Figures about states that one machine does not hold, or that several use."""
