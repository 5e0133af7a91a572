"""Its spiders."""
