"""Files that wait for a decision: checked and shown, but not imported yet."""

from pathlib import Path
from uuid import uuid4

from django.conf import settings
from django.db import models

from evalsite.studies.models import Batch, Study


class Upload(models.Model):
    """A file that a researcher is looking at before importing it. Its bytes are never served."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="uploads")
    file_name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    mapping = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    # the batch it became, once imported
    batch = models.ForeignKey(Batch, null=True, on_delete=models.CASCADE, related_name="+")

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.file_name

    @property
    def path(self) -> Path:
        """Where its bytes wait: a random name, none that came from outside."""
        return settings.DATA_DIR / "uploads" / str(self.pk)
