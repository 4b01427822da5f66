"""Stock pages of what is evaluated, read-only."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from evalsite.core.audit.models import AuditEntry
from evalsite.core.readonly import ReadOnlyAdmin
from evalsite.studies.models import Batch, Item, Output, Study
from evalsite.studies.staff_pages import find_home


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "action", "actor_name", "study")
    list_filter = ("action",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        titles = Study.objects.filter(pk=OuterRef("study_id")).values("title")
        return super().get_queryset(request).annotate(title=Subquery(titles))

    @admin.display(description="study")
    def study(self, entry: Any) -> str:
        """Return the title; the number that is left of a study that is gone."""
        return entry.title or str(entry.study_id or "")


@admin.register(Study)
class StudyAdmin(ReadOnlyAdmin):
    list_display = ("title", "protocol", "state", "created_at")
    list_filter = ("state", "protocol")
    search_fields = ("title",)

    def change_view(
        self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Lead to the study's own pages, where it is looked at and changed."""
        study = get_object_or_404(
            Study.objects.visible_to(request.user), pk=self.to_uuid(object_id)
        )
        return redirect(f"admin:{find_home(study)}", study.pk)

    @staticmethod
    def to_uuid(text: str) -> UUID:
        try:
            return UUID(text)
        except ValueError:
            raise Http404("No such study.") from None


@admin.register(Batch)
class BatchAdmin(ReadOnlyAdmin):
    list_display = ("file_name", "study", "rows", "uploaded_at")
    list_select_related = ("study",)


@admin.register(Item)
class ItemAdmin(ReadOnlyAdmin):
    list_display = ("key", "kind", "study", "held_at")
    list_select_related = ("study",)
    list_filter = ("kind",)
    search_fields = ("key",)


@admin.register(Output)
class OutputAdmin(ReadOnlyAdmin):
    list_display = ("id", "item", "system", "position")
    list_select_related = ("item", "system")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Output]:
        # those of items that are being stored aren't anywhere yet
        return super().get_queryset(request).filter(pk__in=Output.objects.stored())
