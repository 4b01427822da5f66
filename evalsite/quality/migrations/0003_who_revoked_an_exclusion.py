import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def take_names_from_the_log(apps, schema_editor):
    """Who took an exclusion back was written in the log alone."""
    exclusions = apps.get_model('quality', 'Exclusion').objects.filter(revoked_at__isnull=False)
    entries = apps.get_model('audit', 'AuditEntry').objects
    revoked = entries.filter(action='exclusion taken back', actor__isnull=False).order_by('id')
    for study_id, detail, actor_id in revoked.values_list('study_id', 'detail', 'actor_id'):
        exclusions.filter(study_id=study_id, pk=detail['exclusion']).update(revoked_by=actor_id)


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0001_initial'),
        ('quality', '0002_analysis_plan'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField('exclusion', 'revoked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
        migrations.RunPython(take_names_from_the_log, migrations.RunPython.noop, elidable=True),
        migrations.AddConstraint('exclusion', models.CheckConstraint(condition=models.Q(('revoked_at__isnull', False), ('revoked_by__isnull', True), _connector='OR'), name='only_revoked_exclusions_say_who_revoked_them')),
    ]
