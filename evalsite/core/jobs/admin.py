"""Stock page of jobs, read-only."""

from django.contrib import admin

from evalsite.core.jobs.models import Job
from evalsite.core.readonly import ReadOnlyAdmin


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = ("kind", "state", "done", "total", "created_at", "message")
    list_filter = ("state", "kind")
    # figures of a comparison are for its own page
    exclude = ("result",)
