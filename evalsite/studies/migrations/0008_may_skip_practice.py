from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("studies", "0007_import_notes")]

    operations = [
        migrations.AddField("study", "may_skip_practice", models.BooleanField(default=False)),
    ]
