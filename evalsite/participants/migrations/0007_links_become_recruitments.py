"""Each study's link, code and completion link become a round; so do the platforms it was open to.

Until now every launched study took people from these four by its one link, as often as its limits
allowed; such rounds go on doing so.
"""

from django.db import migrations

OPEN, COMPLETED = "open_link", "completed"
PLATFORMS = ("prolific", "connect", "sona", "mturk")
OPEN_STATES = ("live", "paused")


def create_recruitments(apps, schema_editor):
    Study = apps.get_model("studies", "Study")
    for study in Study.objects.only("pk", "state", "completion_code", "completion_url"):
        Migrated(apps, study).create()


class Migrated:
    def __init__(self, apps, study):
        self.study = study
        self.Recruitment = apps.get_model("participants", "Recruitment")
        self.OutcomeCode = apps.get_model("participants", "OutcomeCode")
        self.Visit = apps.get_model("participants", "Visit")
        self.Participant = apps.get_model("participants", "Participant")
        self.ItemSet = apps.get_model("participants", "ItemSet")

    def create(self):
        visits = self.Visit.objects.filter(study=self.study)
        used = set(visits.order_by().values_list("platform", flat=True).distinct())
        is_open = self.study.state in OPEN_STATES
        for platform in [*PLATFORMS, *sorted(used - {*PLATFORMS})]:
            if is_open or platform in used:
                number = self.Recruitment.objects.filter(study=self.study).count() + 1
                recruitment = self.create_round(number, platform)
                visits.filter(platform=platform).update(recruitment=recruitment)
        people = self.Participant.objects.filter(study=self.study, origin="own", is_pilot=False)
        newcomers = people.filter(visits__isnull=True)
        if self.study.completion_code or self.study.completion_url or newcomers.exists():
            self.open_to(self.create_round(0, OPEN), newcomers)
        self.end_visits()

    def create_round(self, number, platform):
        recruitment = self.Recruitment.objects.create(
            study=self.study, number=number, platform=platform, is_on=True, has_further_sets=True
        )
        code, link = self.study.completion_code, self.study.completion_url
        if code or link:
            self.OutcomeCode.objects.create(
                recruitment=recruitment, outcome=COMPLETED, code=code, link=link
            )
        return recruitment

    def open_to(self, recruitment, newcomers):
        rows = newcomers.order_by("pk").values_list("pk", "created_at").iterator(chunk_size=2000)
        self.Visit.objects.bulk_create(
            (
                self.Visit(
                    study=self.study,
                    participant_id=pk,
                    recruitment=recruitment,
                    platform="",
                    person_id="",
                    arrived_at=created_at,
                )
                for pk, created_at in list(rows)
            ),
            batch_size=500,
        )

    def end_visits(self):
        last = {}
        for visit in self.Visit.objects.filter(study=self.study).order_by("arrived_at", "pk"):
            last[visit.participant_id] = visit
        sets = {}
        for item_set in self.ItemSet.objects.filter(study=self.study).order_by("number"):
            if item_set.finished_at or item_set.participant_id not in sets:
                sets[item_set.participant_id] = item_set
        people = self.Participant.objects.filter(study=self.study).in_bulk([*last])
        for participant_id, visit in last.items():
            me, item_set = people[participant_id], sets.get(participant_id)
            visit.item_set = item_set
            if item_set and item_set.finished_at:
                visit.outcome, visit.ended_at = COMPLETED, item_set.finished_at
            elif me.is_eligible is False:
                visit.outcome, visit.ended_at = "screened_out", me.created_at
            elif me.is_qualified is False:
                visit.outcome, visit.ended_at = "failed_check", me.stopped_at or me.created_at
        self.Visit.objects.bulk_update(
            last.values(), ["item_set", "outcome", "ended_at"], batch_size=200
        )


class Migration(migrations.Migration):

    dependencies = [
        ('participants', '0006_recruitments'),
        ('studies', '0008_may_skip_practice'),
    ]

    operations = [
        migrations.RunPython(create_recruitments, migrations.RunPython.noop, elidable=True),
    ]
