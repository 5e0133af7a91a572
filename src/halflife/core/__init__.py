"""The nouns of the field and the protocols between the parts."""
