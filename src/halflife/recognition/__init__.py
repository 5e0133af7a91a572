"""Recognition: what an answer to a first request is, and how it could be kept."""
