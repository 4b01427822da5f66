"""Accounts under Records: stock pages, without the tables of signing in."""

from typing import Any

from allauth.account.models import EmailAddress, EmailConfirmation
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest

from evalsite.core.accounts.researchers import turn_off_two_factor
from evalsite.core.audit.account_log import record_account
from evalsite.core.audit.models import Event

_SOCIAL = ("SocialAccount", "SocialApp", "SocialToken")
# they hold secrets, or what the account page shows better
for model in [
    *(EmailAddress, EmailConfirmation, Authenticator, UserSession),
    *(apps.get_model("socialaccount", name) for name in _SOCIAL if settings.SSO_SERVER),
]:
    if admin.site.is_registered(model):
        admin.site.unregister(model)
admin.site.unregister(User)


@admin.register(User)
class AccountAdmin(UserAdmin):
    """The stock pages, from which two-factor sign-in can be turned off."""

    actions = ["turn_off_two_factor"]

    def save_model(self, request: HttpRequest, user: User, form: Any, change: bool) -> None:
        """Store the account, and record what changed in how one signs in to it."""
        super().save_model(request, user, form, change)
        changed = [name for name in ("username", "email") if name in form.changed_data]
        if not change:
            event = Event.MADE
        elif "is_active" in form.changed_data:
            event = Event.ENABLED if user.is_active else Event.DISABLED
        elif changed:
            event = Event.CHANGED
        else:
            return
        detail = ["administrator"] if event == Event.MADE else [*changed, "administrator"]
        record_account(event, user, request, ",".join(detail))

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> Any:
        """Set a password, and record it."""
        former = self.get_object(request, id)
        response = super().user_change_password(request, id, form_url)
        if former and former.password != User.objects.get(pk=former.pk).password:
            record_account(Event.CHANGED, former, request, "password,administrator")
        return response

    @admin.action(description="Turn off two-factor sign-in", permissions=["change"])
    def turn_off_two_factor(self, request: HttpRequest, users: QuerySet[User]) -> None:
        turned_off = [user for user in users if turn_off_two_factor(user)]
        for user in turned_off:
            record_account(Event.CHANGED, user, request, "two-factor-off,administrator")
        count = len(turned_off)
        messages.success(request, f"Turned off for {count} of {users.count()} accounts.")
