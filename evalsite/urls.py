"""All addresses of the site."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from evalsite.decisions import work_views
from evalsite.fieldwork import pilot_pages
from evalsite.participation import (
    background_views,
    check_views,
    entry_views,
    example_views,
    ignore_views,
    join_views,
    practice_views,
    qualification_views,
    rating_views,
    report_views,
    sheet_views,
    skip_views,
    stop_for_now_views,
    stopped_views,
    views,
)
from evalsite.studies import invitation_views

handler404 = "evalsite.people.access.page_not_found"
handler500 = "evalsite.core.outage.server_error"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("account/", include("evalsite.core.accounts.urls")),
    path("account/first/<token>/", invitation_views.show_first_link, name="first-administrator"),
    path("invitation/<token>/", invitation_views.show_invitation, name="invitation"),
    path("join/<uuid:study_id>/", join_views.join, {"number": 0}, name="study-join"),
    path("join/<uuid:study_id>/<int:number>/", join_views.join, name="recruitment-join"),
    path("pilot/<token>/", pilot_pages.join_pilot, name="pilot-join"),
    path("p/<token>/comment/", pilot_pages.comment, name="pilot-comment"),
    path("p/<token>/", join_views.open_personal_link, name="participant-home"),
    path("p/<token>/consent/", entry_views.consent, name="participant-consent"),
    path("p/<token>/sharing/", entry_views.sharing, name="participant-sharing"),
    path("p/<token>/declined/", entry_views.declined, name="participant-declined"),
    path("p/<token>/questions/", entry_views.entry, name="participant-entry"),
    path("p/<token>/not-eligible/", entry_views.refused, name="participant-refused"),
    path("p/<token>/end/", entry_views.end, name="participant-end"),
    path("p/<token>/instructions/", views.instructions, name="participant-instructions"),
    path("p/<token>/check/", check_views.check, name="instructions-check"),
    path("p/<token>/check/missed/", check_views.missed, name="instructions-missed"),
    path("p/<token>/examples/", example_views.worked_examples, name="worked-examples"),
    path("p/<token>/practice/<int:number>/", practice_views.practice, name="participant-practice"),
    path(
        "p/<token>/qualification/",
        qualification_views.qualification,
        name="participant-qualification",
    ),
    path(
        "p/<token>/qualification/<int:number>/",
        qualification_views.qualification_item,
        name="qualification-item",
    ),
    path(
        "p/<token>/qualification/questions/",
        qualification_views.qualification_questions,
        name="qualification-questions",
    ),
    path(
        "p/<token>/qualification/suggestions/",
        qualification_views.suggestions,
        name="qualification-suggestions",
    ),
    path(
        "p/<token>/not-qualified/", qualification_views.unqualified, name="participant-unqualified"
    ),
    path("p/<token>/start/", entry_views.start, name="participant-start"),
    path(
        "p/<token>/sets/<int:number>/items/<int:place>/",
        rating_views.rating_page,
        name="rating-page",
    ),
    path(
        "p/<token>/sets/<int:number>/items/<int:place>/report/",
        report_views.report,
        name="rating-report",
    ),
    path(
        "p/<token>/sets/<int:number>/items/<int:place>/skip/",
        skip_views.skip,
        name="rating-skip",
    ),
    path(
        "p/<token>/sets/<int:number>/items/<int:place>/ignore/",
        ignore_views.ignore,
        name="rating-ignore",
    ),
    path(
        "p/<token>/sets/<int:number>/items/<int:place>/ignore/undo/",
        ignore_views.undo,
        name="ignore-undo",
    ),
    path("p/<token>/sets/<int:number>/", sheet_views.sheet, name="set-sheet"),
    path("p/<token>/sets/<int:number>/draft/", sheet_views.draft, name="sheet-draft"),
    path("p/<token>/sets/<int:number>/break/<int:place>/", views.pause, name="set-break"),
    path("p/<token>/sets/<int:number>/review/", views.review, name="set-review"),
    path("p/<token>/draft/", rating_views.draft, name="rating-draft"),
    path("p/<token>/finish/", views.finish, name="participant-finish"),
    path("p/<token>/about-you/", background_views.background, name="background-questions"),
    path("p/<token>/no-work/", entry_views.no_work, name="participant-no-work"),
    path("p/<token>/stop/", stop_for_now_views.stop, name="participant-stop"),
    path("p/<token>/closed/", views.shut, name="participant-shut"),
    path("p/<token>/stopped/", stopped_views.stopped, name="participant-stopped"),
    path("p/<token>/work/", work_views.work, name="participant-work"),
    path("p/<token>/withdraw/", views.leave, name="participant-withdraw"),
    path("p/<token>/withdrawn/", views.withdrawn, name="participant-withdrawn"),
]
