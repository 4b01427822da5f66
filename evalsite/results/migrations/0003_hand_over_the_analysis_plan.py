from django.db import migrations


class Migration(migrations.Migration):
    """The table of plans belongs to another app from here on, with all of its rows."""

    dependencies = [
        ('results', '0002_analysis_plan'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.AlterModelTable('AnalysisPlan', 'quality_analysisplan'),
            ],
            state_operations=[
                migrations.DeleteModel('AnalysisPlan'),
            ],
        ),
    ]
