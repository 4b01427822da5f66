"""Accounts under Records: stock pages, without the tables of signing in."""

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

from evalsite.accounts.researchers import turn_off_two_factor

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

    @admin.action(description="Turn off two-factor sign-in", permissions=["change"])
    def turn_off_two_factor(self, request: HttpRequest, users: QuerySet[User]) -> None:
        count = sum(turn_off_two_factor(user) for user in users)
        messages.success(request, f"Turned off for {count} of {users.count()} accounts.")
