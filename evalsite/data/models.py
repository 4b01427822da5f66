"""Files that wait for a decision, and the scores of metrics and labels of judges that came in
files."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q

from evalsite.data.tables.reader import FileMapping
from evalsite.handout.models import RatingsFile
from evalsite.lib.clock import now
from evalsite.studies.models import Batch, Output, Study

KEEP_FOR = timedelta(days=1)
# a file with faults: long enough to look at them, or to map its columns
KEEP_REFUSED_FOR = timedelta(hours=1)


class MappingField(models.JSONField):
    """What a person said of a file, kept as JSON."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> FileMapping:
        return FileMapping.model_validate(super().from_db_value(value, expression, connection))

    def get_prep_value(self, value: Any) -> Any:
        plain = value.model_dump(exclude_defaults=True) if hasattr(value, "model_dump") else value
        return super().get_prep_value(plain)


class Upload(models.Model):
    """A file that a researcher is looking at before importing it. Its bytes are never served."""

    class Purpose(models.TextChoices):
        ITEMS = "items"
        RATINGS = "ratings"
        METRICS = "metrics"
        JUDGES = "judges"

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    # empty before there is a study: then it belongs to the person who uploaded it
    study = models.ForeignKey(Study, null=True, on_delete=models.CASCADE, related_name="uploads")
    purpose = models.CharField(max_length=10, choices=Purpose.choices, default=Purpose.ITEMS)
    file_name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    # what the researcher said of it
    mapping = MappingField(default=FileMapping)
    # what was found when it was last checked, as plain data that the page shows
    report = models.JSONField(default=dict)
    checked_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # when its person last opened it, to the hour
    looked_at = models.DateTimeField(default=now)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    is_imported = models.BooleanField(default=False)
    # the batch it became, or the ratings, once imported
    batch = models.ForeignKey(Batch, null=True, on_delete=models.CASCADE, related_name="+")
    ratings_file = models.ForeignKey(
        RatingsFile, null=True, on_delete=models.CASCADE, related_name="+"
    )

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.file_name

    @property
    def seed(self) -> str:
        """The seed of whatever is drawn from it, and of the study that is made of it."""
        return self.pk.hex[:12]

    @property
    def has_faults(self) -> bool:
        """Whether the last check found some; small files of ratings are checked when shown."""
        report = self.report if self.checked_at else {}
        return bool(report.get("fault_count") or report.get("faults"))

    @property
    def kept_until(self) -> datetime:
        """When its bytes go, unless a job needs them then."""
        if self.study_id is None:
            return self.looked_at + KEEP_FOR
        longest = self.created_at + KEEP_FOR
        if self.batch_id or self.ratings_file_id or not (self.checked_at and self.has_faults):
            return longest
        return min(longest, self.checked_at + KEEP_REFUSED_FOR)

    @property
    def path(self) -> Path:
        """Where its bytes wait: a random name, none that came from outside."""
        return settings.DATA_DIR / "uploads" / str(self.pk)

    @property
    def faults_path(self) -> Path:
        """Where all of its faults are listed, as CSV, once it was checked."""
        return self.path.with_suffix(".faults.csv")

    @property
    def checked_path(self) -> Path:
        """Where the values wait that the last check found, until they are imported."""
        return self.path.with_suffix(".checked.jsonl")

    @classmethod
    def required_files(cls) -> Iterator[Path]:
        """List the files without which a row is worth nothing: those that wait for a decision."""
        waiting = cls.objects.filter(batch=None, ratings_file=None)
        for upload in waiting.filter(is_imported=False):
            yield upload.path


class MetricFile(models.Model):
    """An uploaded file of scores that automatic metrics gave to a study's outputs."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="metric_files")
    file_name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    # what the researcher confirmed at import, such as rows left out: plain data, one dict a step
    import_notes = models.JSONField(default=list, blank=True)
    uploaded_at = models.DateTimeField(default=now)
    uploaded_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        ordering = ["uploaded_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "sha256"], name="same_metric_file_once_per_study"
            )
        ]

    def __str__(self) -> str:
        return self.file_name


class MetricScoreManager(models.Manager["MetricScore"]):
    def get_queryset(self) -> models.QuerySet["MetricScore"]:
        """Leave out scores of outputs that are being deleted, as `Item.objects` does."""
        hidden = Batch.all_objects.filter(stored_at__isnull=True)
        return super().get_queryset().exclude(output__item__batch__in=hidden)


class MetricScore(models.Model):
    """What one metric gave to one output."""

    file = models.ForeignKey(MetricFile, on_delete=models.CASCADE, related_name="scores")
    output = models.ForeignKey(Output, on_delete=models.CASCADE, related_name="metric_scores")
    metric = models.CharField(max_length=100)
    value = models.FloatField()
    # whether higher or lower scores of the metric are better
    better = models.CharField(
        max_length=6, default="higher", choices=[("higher", "higher"), ("lower", "lower")]
    )

    objects = MetricScoreManager()
    all_objects = models.Manager["MetricScore"]()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(better__in=["higher", "lower"]),
                name="higher_or_lower_scores_are_better",
            ),
            models.UniqueConstraint(
                fields=["output", "metric"], name="one_score_per_output_and_metric"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.metric} {self.value}"


class JudgeFile(models.Model):
    """An uploaded file of labels that judges, which are models that rate, gave."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="judge_files")
    file_name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    # what the researcher confirmed at import, such as rows left out: plain data, one dict a step
    import_notes = models.JSONField(default=list, blank=True)
    uploaded_at = models.DateTimeField(default=now)
    uploaded_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        ordering = ["uploaded_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "sha256"], name="same_judge_file_once_per_study"
            )
        ]

    def __str__(self) -> str:
        return self.file_name


class Judge(models.Model):
    """A judge of a study: a name, and the version of its prompt; another prompt is another judge.

    What a certificate needs is asked when its first labels have come, and may stay empty.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="judges")
    name = models.CharField(max_length=100)
    prompt_version = models.CharField(max_length=100, blank=True)
    version = models.CharField(max_length=200, blank=True)  # of the model
    prompt = models.TextField(blank=True)
    prompt_sha256 = models.CharField(max_length=64, blank=True)
    settings = models.CharField(max_length=500, blank=True)
    judged_on = models.DateField(null=True, blank=True)

    class Meta:
        ordering = ["name", "prompt_version"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "name", "prompt_version"], name="one_judge_per_name_and_prompt"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name}, prompt {self.prompt_version}" if self.prompt_version else self.name


class JudgeLabel(models.Model):
    """What a judge said of an output on one question, or of two outputs of one input.

    Inputs and systems are names: a label of an input that nobody rated needs no item. A pair has
    both systems, in alphabetical order when they came; what isn't known is an empty text or 0.
    """

    file = models.ForeignKey(JudgeFile, on_delete=models.CASCADE, related_name="labels")
    judge = models.ForeignKey(Judge, on_delete=models.CASCADE, related_name="labels")
    criterion = models.CharField(max_length=100)
    item_key = models.CharField(max_length=200)
    system = models.CharField(max_length=200)
    other_system = models.CharField(max_length=200, blank=True)
    # 1: the first of the two systems was shown first; 2: the second; 0: not known
    order = models.PositiveSmallIntegerField(default=0)
    run = models.CharField(max_length=100, blank=True)
    # of a pair above 0 where `other_system` is preferred
    value = models.FloatField(null=True)
    option = models.CharField(max_length=200, blank=True)
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(value__isnull=False) | ~Q(option=""),
                name="labels_have_a_value_or_an_option",
            ),
            models.CheckConstraint(condition=Q(order__lte=2), name="labels_have_a_known_order"),
            models.UniqueConstraint(
                fields=[
                    "judge", "criterion", "item_key", "system", "other_system", "order", "run",
                ],
                name="one_label_per_judge_and_output",
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.criterion} {self.item_key} {self.system}"
