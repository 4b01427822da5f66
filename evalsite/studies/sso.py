"""Signing in with an organisation (OpenID Connect): existing accounts, and invited addresses."""

from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import render

from evalsite.core.accounts.researchers import make_researcher
from evalsite.core.audit.account_log import record_account
from evalsite.core.audit.models import Event
from evalsite.lib.clock import now
from evalsite.studies.models import Invitation
from evalsite.studies.site_invitations import use_site_invitation


class InvitedAdapter(DefaultSocialAccountAdapter):
    """Let in people with an account, and create accounts for invited addresses only."""

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Refuse an account that is no researcher's, and an address that nobody has invited."""
        if sociallogin.is_existing:
            is_welcome = sociallogin.user.is_staff and sociallogin.user.is_active
        else:
            is_welcome = find_invitations(sociallogin).exists()
        if not is_welcome:
            # the address that the organisation gave, verified or not
            emails = (address.email for address in sociallogin.email_addresses if address.email)
            account = sociallogin.user if sociallogin.is_existing else next(emails, "no address")
            record_account(Event.FAILED, account, request, "sso")
            raise ImmediateHttpResponse(refuse(request))

    def authenticate_by_email(self, sociallogin: Any) -> tuple[User, str] | None:
        """Return the account with the verified address, however it is capitalised."""
        verified = [address.email for address in sociallogin.email_addresses if address.verified]
        for email in verified:
            users = list(User.objects.filter(email__iexact=email)[:2])
            if len(users) == 1:
                return users[0], email
        return None

    def on_authentication_error(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Answer with a page of ours when the organisation's server says no or can't be reached."""
        raise ImmediateHttpResponse(
            render(request, "account/sso_refused.html", {"has_failed": True}, status=502)
        )

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return find_invitations(sociallogin).exists()

    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> User:
        user: User = super().save_user(request, sociallogin, form)
        make_researcher(user)
        for invitation in find_invitations(sociallogin).filter(study=None):
            use_site_invitation(invitation=invitation, token=invitation.token, by=user)
        return user


def find_invitations(sociallogin: Any) -> QuerySet[Invitation]:
    """Return the open invitations to an address that the organisation has verified."""
    verified = [address.email for address in sociallogin.email_addresses if address.verified]
    if len(verified) != 1:
        return Invitation.objects.none()
    return Invitation.objects.unanswered().filter(label__iexact=verified[0], expires_at__gt=now())


def refuse(request: HttpRequest) -> Any:
    """Return the page for people without an account here."""
    return render(request, "account/sso_refused.html", {"has_failed": False}, status=403)
