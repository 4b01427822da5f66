from django.db import migrations, models
from django.db.models import F

import evalsite.lib.clock


def keep_the_order(apps, schema_editor):
    """Reports were ordered by when they were made."""
    apps.get_model('results', 'Report').objects.update(requested_at=F('made_at'))


class Migration(migrations.Migration):

    dependencies = [
        ('results', '0003_hand_over_the_analysis_plan'),
    ]

    operations = [
        migrations.AddField('report', 'requested_at', models.DateTimeField(default=evalsite.lib.clock.now)),
        migrations.RunPython(keep_the_order, migrations.RunPython.noop, elidable=True),
        migrations.AlterModelOptions('report', options={'ordering': ['-requested_at']}),
    ]
