"""Stock pages of the act of rating, read-only."""

from django.contrib import admin

from evalsite.core.readonly import ReadOnlyAdmin
from evalsite.handout.models import Slot


@admin.register(Slot)
class SlotAdmin(ReadOnlyAdmin):
    list_display = ("id", "item", "no", "state", "participant", "lease_until")
    list_select_related = ("item", "participant")
    list_filter = ("state",)
