"""Pictures and tables of what set sources did and what was forecast of them."""
