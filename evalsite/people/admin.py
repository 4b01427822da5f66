"""Stock page of participants, read-only; links and their hashes are on no page."""

from django.contrib import admin

from evalsite.core.readonly import ReadOnlyAdmin
from evalsite.people.models import Participant


@admin.register(Participant)
class ParticipantAdmin(ReadOnlyAdmin):
    list_display = ("pseudonym", "study", "origin", "is_pilot", "created_at")
    list_select_related = ("study",)
    list_filter = ("origin", "is_pilot")
