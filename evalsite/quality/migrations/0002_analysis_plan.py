from datetime import datetime

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import evalsite.lib.clock

_MOMENTS = {'baseline': 'baseline_changed_at', 'thresholds': 'thresholds_changed_at'}


def take_moments_from_the_log(apps, schema_editor):
    """When baseline and thresholds were last changed stood in the log alone."""
    entries = apps.get_model('audit', 'AuditEntry').objects
    for plan in apps.get_model('quality', 'AnalysisPlan').objects.all():
        changes = entries.filter(study_id=plan.study_id, action='analysis plan changed')
        for detail in changes.order_by('id').values_list('detail', flat=True):
            moment = datetime.fromisoformat(detail['at'])
            for name in _MOMENTS.keys() & set(detail['fields']):
                setattr(plan, _MOMENTS[name], moment)
        plan.save(update_fields=[*_MOMENTS.values()])


def move_content_type(apps, schema_editor):
    """Whoever was permitted something about plans still is."""
    _rename_app(apps, 'results', 'quality')


def move_content_type_back(apps, schema_editor):
    _rename_app(apps, 'quality', 'results')


def _rename_app(apps, old, new):
    kinds = apps.get_model('contenttypes', 'ContentType').objects.filter(model='analysisplan')
    if not kinds.filter(app_label=new).exists():
        kinds.filter(app_label=old).update(app_label=new)


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0001_initial'),
        ('contenttypes', '0002_remove_content_type_name'),
        ('quality', '0001_initial'),
        ('results', '0003_hand_over_the_analysis_plan'),
        ('studies', '0003_hand_out'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            # the table stands, from the app that had it before
            state_operations=[
                migrations.CreateModel(
                    name='AnalysisPlan',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('baseline', models.CharField(blank=True, max_length=200)),
                        ('thresholds', models.JSONField(blank=True, default=dict)),
                        ('exclusion_rule', models.TextField(blank=True, max_length=2000)),
                        ('rule_changed_at', models.DateTimeField(null=True)),
                        ('changed_at', models.DateTimeField(default=evalsite.lib.clock.now)),
                        ('changed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                        ('repeats', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='repetitions', to='studies.study')),
                        ('study', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='analysis_plan', to='studies.study')),
                    ],
                ),
            ],
        ),
        migrations.AddField('analysisplan', 'baseline_changed_at', models.DateTimeField(null=True)),
        migrations.AddField('analysisplan', 'thresholds_changed_at', models.DateTimeField(null=True)),
        migrations.RunPython(take_moments_from_the_log, migrations.RunPython.noop, elidable=True),
        migrations.RunPython(move_content_type, move_content_type_back, elidable=True),
    ]
