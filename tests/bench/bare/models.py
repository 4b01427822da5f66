from django.db import models


class Row(models.Model):
    """One row, inserted and never read."""

    value = models.IntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return str(self.value)
