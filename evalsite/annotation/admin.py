"""Stock pages of the act of rating, read-only."""

from django.contrib import admin

from evalsite.annotation.models import Annotation, Rating, Slot
from evalsite.lib.readonly import ReadOnlyAdmin


@admin.register(Slot)
class SlotAdmin(ReadOnlyAdmin):
    list_display = ("id", "item", "no", "state", "participant", "lease_until")
    list_select_related = ("item", "participant")
    list_filter = ("state",)


@admin.register(Annotation)
class AnnotationAdmin(ReadOnlyAdmin):
    list_display = ("id", "item", "participant", "outcome", "status", "submitted_at")
    list_select_related = ("item", "participant")
    list_filter = ("status", "outcome", "origin")


@admin.register(Rating)
class RatingAdmin(ReadOnlyAdmin):
    list_display = ("id", "annotation", "criterion", "value")
    list_select_related = ("annotation",)
