"""Stock pages of answers, read-only, without those whose systems are hidden."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from evalsite.core.readonly import ReadOnlyAdmin
from evalsite.decisions.frozen_plans import list_hidden
from evalsite.handout.models import Annotation, Rating


class _ShownAdmin(ReadOnlyAdmin):
    """Rows of studies whose results by system aren't hidden."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).exclude(study__in=list_hidden().values("pk"))


@admin.register(Annotation)
class AnnotationAdmin(_ShownAdmin):
    list_display = ("id", "item", "participant", "outcome", "status", "submitted_at")
    list_select_related = ("item", "participant")
    list_filter = ("status", "outcome", "origin")


@admin.register(Rating)
class RatingAdmin(_ShownAdmin):
    list_display = ("id", "annotation", "criterion", "value")
    list_select_related = ("annotation",)
