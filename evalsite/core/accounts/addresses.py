"""Changing the e-mail address of an account: a signed link proves that one reads it."""

from datetime import timedelta

from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction
from django.http import HttpRequest
from django.template.loader import render_to_string

from evalsite.core.jobs.outbox import post_mail
from evalsite.core.mail import is_mail_on
from evalsite.core.rate_limits import client_address
from evalsite.lib.clock import now
from evalsite.lib.networks import cut_network

_SALT = "evalsite.core.accounts.address"
_TERM = timedelta(days=1)


def sign_address(user: User, email: str) -> str:
    """Return the token of a link that makes this the account's address."""
    return signing.dumps([user.pk, user.email, email], salt=_SALT)


def read_address(token: str) -> tuple[User | None, str]:
    """Return whose new address it is; nobody's if the link is old, used or not ours."""
    try:
        pk, former, email = signing.loads(token, salt=_SALT, max_age=_TERM)
    except signing.BadSignature:
        return None, ""
    return User.objects.filter(pk=pk, email=former, is_active=True).first(), email


@transaction.atomic
def change_address(user: User, email: str, request: HttpRequest) -> None:
    """Store the address, notify the former one, and forget any that an organisation has brought."""
    User.objects.filter(pk=user.pk).update(email=email)
    EmailAddress.objects.filter(user=user).delete()
    if user.email and is_mail_on():
        network = cut_network(client_address(request))
        context = {"account": user, "moment": now(), "network": network}
        body = render_to_string("account/email/address_changed_message.txt", context)
        post_mail(to=user.email, subject="The address of your Evalsite account changed", body=body)
