"""The settings of the Scrapy tutorial; the last three lines are all that is new."""

BOT_NAME = "quotes"
SPIDER_MODULES = ["quotes.spiders"]
NEWSPIDER_MODULE = "quotes.spiders"
ROBOTSTXT_OBEY = True

ADDONS = {"halflife.scrapy.Addon": 500}
HALFLIFE_BUDGET = "7000/week"
HALFLIFE_STATE = "halflife.db"
