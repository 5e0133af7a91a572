"""OAI-PMH repositories as a kind of source: ``kind = "oai"``."""
