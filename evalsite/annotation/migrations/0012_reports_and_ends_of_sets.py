"""Who has reported something, and until when open sets are kept: both follow from the rows."""

from django.db import migrations
from django.db.models import Exists, Max, OuterRef, Subquery


def note_reports(apps, schema_editor):
    Annotation = apps.get_model("annotation", "Annotation")
    Participant = apps.get_model("participants", "Participant")
    reports = Annotation.objects.filter(participant=OuterRef("pk"), outcome="reported")
    Participant.objects.filter(Exists(reports)).update(has_reported=True)


def note_ends(apps, schema_editor):
    Slot = apps.get_model("annotation", "Slot")
    ItemSet = apps.get_model("participants", "ItemSet")
    held = Slot.objects.filter(participant=OuterRef("participant"), state=1).order_by()
    ends = held.values("participant").annotate(end=Max("lease_until")).values("end")
    ItemSet.objects.filter(finished_at__isnull=True).update(leased_until=Subquery(ends))


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0011_visits_of_answers"),
        ("participants", "0024_standing_and_networks"),
    ]

    operations = [
        migrations.RunPython(note_reports, migrations.RunPython.noop),
        migrations.RunPython(note_ends, migrations.RunPython.noop),
    ]
