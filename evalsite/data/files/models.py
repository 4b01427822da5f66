"""What pages of files read instead of counting."""

from django.db import models

from evalsite.studies.models import Study


class FileCounts(models.Model):
    """How many rows each file of a study had a short while ago.

    Counted by the job worker, since the page must not count all ratings at each visit.
    """

    study = models.OneToOneField(
        Study, primary_key=True, on_delete=models.CASCADE, related_name="file_counts"
    )
    counted_at = models.DateTimeField()
    seconds = models.FloatField()  # that counting took
    # by file
    rows = models.JSONField()
    # the same for the files that may leave while systems are hidden
    pseudonymised = models.JSONField()
    # ids that programs misread with default settings: the first few
    misread = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"rows of files of {self.study_id}"
