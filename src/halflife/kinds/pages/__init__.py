"""Web pages, with or without following their links."""
