"""Lists of what other programs watch, read to be kept here and written for them."""
