"""What analysis finds: the reports that were made."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from django.conf import settings
from django.db import models

from evalsite.lib.clock import now
from evalsite.studies.models import Study


class SizePlan(models.Model):
    """The size that a study was planned for, as its researchers chose it from the planner."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="size_plan")
    # inputs, participants, ratings of an output, power, and the sentence that reports print
    content = models.JSONField()
    kept_at = models.DateTimeField(default=now)
    kept_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    def __str__(self) -> str:
        return f"planned size of {self.study_id}"


class Report(models.Model):
    """The results of a study at one moment; the figures are in files."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="reports")
    # equal for equal data, settings and methods: such a report is not computed again
    fingerprint = models.CharField(max_length=64)
    # of the ratings.csv that it was computed from
    sha256 = models.CharField(max_length=64)
    content = models.JSONField()
    # what it says in a few words, for lists of studies
    headline = models.TextField(blank=True)
    # when its data were read; never changed
    made_at = models.DateTimeField(default=now)
    # when it was last asked for again, after reports of other data; the newest is shown
    requested_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["-requested_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "fingerprint"], name="one_report_of_the_same_data"
            )
        ]

    def __str__(self) -> str:
        return f"report of {self.study_id}"

    @property
    def folder(self) -> Path:
        """Return the folder of its drawings."""
        return settings.DATA_DIR / "reports" / str(self.pk)

    @property
    def outputs(self) -> Path:
        """The table of outputs, a file; there is none where outputs are only compared."""
        return self.folder / "outputs.csv"

    @classmethod
    def required_files(cls) -> Iterator[Path]:
        """List the folders with the drawings of reports; without them a report has gaps."""
        for report in cls.objects.only("id"):
            yield report.folder
