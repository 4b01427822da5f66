from django.db import migrations


def lift_limits(apps, schema_editor):
    """Let people with personal links go on: they had one set each, and no form said so."""
    rounds = apps.get_model("participants", "Recruitment").objects
    rounds.filter(platform="personal", has_further_sets=False).update(has_further_sets=True)


class Migration(migrations.Migration):
    dependencies = [("participants", "0021_links_of_later_visits")]

    operations = [migrations.RunPython(lift_limits, migrations.RunPython.noop, elidable=True)]
