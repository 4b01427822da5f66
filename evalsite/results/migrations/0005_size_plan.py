import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import evalsite.lib.clock


class Migration(migrations.Migration):

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('results', '0004_moment_of_a_report'),
        ('studies', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel('SizePlan', [
            ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ('content', models.JSONField()),
            ('kept_at', models.DateTimeField(default=evalsite.lib.clock.now)),
            ('kept_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
            ('study', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='size_plan', to='studies.study')),
        ]),
    ]
