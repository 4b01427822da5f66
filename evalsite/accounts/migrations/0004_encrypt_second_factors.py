"""Encrypt the seeds of second factors, which were stored as they are."""

from django.db import migrations

from evalsite.accounts.encryption import SECRETS, decrypt, encrypt


def _change(apps, change):
    for row in apps.get_model("mfa", "Authenticator").objects.all():
        row.data |= {name: change(row.data[name]) for name in SECRETS if name in row.data}
        row.save(update_fields=["data"])


def encrypt_seeds(apps, schema_editor):
    _change(apps, encrypt)


def decrypt_seeds(apps, schema_editor):
    _change(apps, decrypt)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_mail_choice'),
        ('mfa', '0003_authenticator_type_uniq'),
    ]

    operations = [
        migrations.RunPython(encrypt_seeds, decrypt_seeds),
    ]
