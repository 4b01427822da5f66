import json
from hashlib import sha256

from django.db import migrations

_PARTS = ('primary', 'baseline', 'margins', 'exclusion_rule')
CARRIED_OVER = 'Version 0.1 showed results while answers came in'


def freeze_plans(apps, schema_editor):
    """The plan of each launched study is version 1, 'none' too; who could see results has seen them."""
    Study = apps.get_model('studies', 'Study')
    Plan = apps.get_model('quality', 'AnalysisPlan')
    Version = apps.get_model('quality', 'AnalysisPlanVersion')
    Event = apps.get_model('quality', 'PlanEvent')
    counted = apps.get_model('annotation', 'Annotation').objects.filter(status='counted')
    for study in Study.objects.filter(launched_at__isnull=False):
        if Version.objects.filter(study=study).exists():
            continue
        plan = Plan.objects.filter(study=study).first()
        content = {name: getattr(plan, name) for name in _PARTS if getattr(plan, name, None)}
        if plan is not None and plan.thresholds:
            content['thresholds'] = plan.thresholds
        has_plan = any(name in content for name in _PARTS)
        text = json.dumps(content, sort_keys=True, ensure_ascii=False)
        changed_at = plan.changed_at if has_plan else study.launched_at
        frozen_at = max(study.launched_at, changed_at)
        answers = counted.filter(study=study, item__kind='main')
        Version.objects.create(
            study=study,
            number=1,
            content=content,
            sha256=sha256(text.encode()).hexdigest(),
            has_plan=has_plan,
            answers=answers.filter(submitted_at__lt=frozen_at).count(),
            frozen_at=frozen_at,
            frozen_by_id=plan.changed_by_id if has_plan else None,
        )
        if has_plan and study.state in ('live', 'paused'):
            Event.objects.create(
                study=study, kind='revealed', answers=answers.count(), reason=CARRIED_OVER
            )


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0009_import_notes'),
        ('quality', '0006_frozen_plans'),
    ]

    operations = [
        migrations.RunPython(freeze_plans, migrations.RunPython.noop, elidable=True),
    ]
