"""The project of the Scrapy tutorial."""
