"""Stock page of the log, read-only."""

from django.contrib import admin

from evalsite.audit.models import AuditEntry
from evalsite.lib.readonly import ReadOnlyAdmin


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "action", "actor_name", "study_id")
    list_filter = ("action",)
