"""Objects that live and die alike."""
