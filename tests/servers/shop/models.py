from django.db import models


class Tea(models.Model):
    """A tea with a price that changes."""

    name = models.CharField(max_length=80)
    price = models.IntegerField()

    class Meta:
        db_table = "tea"

    def __str__(self):
        return self.name
