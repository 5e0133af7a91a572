"""The network: one gate, robots.txt, pacing, decoding."""
