"""Forms for signing in and for one's own account."""

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.forms import ChangePasswordForm, LoginForm, ResetPasswordForm
from allauth.account.internal.flows.password_reset import request_password_reset
from allauth.core import context
from allauth.mfa.adapter import get_adapter as get_mfa_adapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from cryptography.fernet import InvalidToken
from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.validators import RegexValidator
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from evalsite.core.accounts.lockout import SignInLocked, begin_code_attempt, find_accounts
from evalsite.core.accounts.models import MailChoice, find_profile
from evalsite.core.accounts.sessions import LONG_SESSION, SESSION, set_term
from evalsite.core.accounts.time_zones import list_time_zones, zone_of
from evalsite.core.audit.account_log import record_account
from evalsite.core.audit.models import Event
from evalsite.core.rate_limits import client_address
from evalsite.lib.clock import now

# a user name has at most 150 characters, an address 254
_LONGEST_LOGIN = 254


class SignInForm(LoginForm):
    """E-mail or user name, password, and for how long to stay signed in."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"] = forms.CharField(
            label="E-mail or user name",
            max_length=_LONGEST_LOGIN,
            widget=forms.TextInput(
                attrs={
                    "autocapitalize": "none",
                    "autocomplete": "username",
                    "autofocus": True,
                    "spellcheck": "false",
                }
            ),
        )
        self.fields["password"].widget.attrs.pop("placeholder", None)
        self.fields["password"].help_text = ""

    def clean_login(self) -> str:
        """Return the user name: addresses are found however they are capitalised."""
        login = self.cleaned_data["login"].strip()
        users = list(User.objects.filter(email__iexact=login)[:2]) if "@" in login else []
        return users[0].username if len(users) == 1 else login

    def login(self, request: HttpRequest, redirect_url: str | None = None) -> HttpResponseBase:
        """Sign in until a set time, or ask for a code first."""
        response: HttpResponseBase = super().login(request, redirect_url)
        set_term(request.session, LONG_SESSION if self.cleaned_data["remember"] else SESSION)
        if not request.user.is_authenticated:
            record_account(Event.CODE_ASKED, self.user, request, "password")
        return response


class _Counted:
    """Count wrong codes, as wrong passwords are counted."""

    user: User

    def clean_code(self) -> str:
        request = context.request
        adapter = get_adapter(request)
        try:
            attempt = begin_code_attempt(self.user, client_address(request))
        except SignInLocked as locked:
            raise adapter.refuse_locked(request, locked) from locked
        try:
            code: str = super().clean_code()  # type: ignore[misc]
        except (forms.ValidationError, InvalidToken) as error:
            adapter.fail_attempt(request, attempt, self.user, "code")
            # no key of this site reads the seed
            raise get_mfa_adapter().validation_error("incorrect_code") from error
        attempt.succeed()
        return code


class CodeForm(_Counted, AuthenticateForm):
    """A code after the password."""


class CodeAgainForm(_Counted, ReauthenticateForm):
    """A code that confirms who it is."""


class NewPasswordForm(ChangePasswordForm):
    """A new password, for people who know the old one."""

    def clean_oldpassword(self) -> str:
        """Count wrong ones, as signing in does."""
        password: str = self.cleaned_data["oldpassword"]
        adapter = get_adapter()
        if not adapter.reauthenticate(self.user, password):
            raise adapter.validation_error("enter_current_password")
        return password


class PasswordForgottenForm(ResetPasswordForm):
    """Whose password it is, by e-mail or user name. Whether there is such an account isn't told."""

    email = forms.CharField(
        label="E-mail or user name",
        max_length=_LONGEST_LOGIN,
        widget=forms.TextInput(
            attrs={"autocapitalize": "none", "autocomplete": "username", "spellcheck": "false"}
        ),
    )

    def clean_email(self) -> str:
        login = self.cleaned_data["email"].strip()
        users = find_accounts(login).filter(is_active=True, is_staff=True).exclude(email="")
        self.users = list(users[:2])
        return self.users[0].email if len(self.users) == 1 else login

    def save(self, request: HttpRequest, **kwargs: Any) -> str:
        """Send the links to the addresses of accounts, never to one that was typed.

        It may only look like theirs: a database takes some letters for others in capitals.
        """
        for user in self.users:
            request_password_reset(request, user.email, [user], None)
        return str(self.cleaned_data["email"])


PROFILE = (
    "organisation", "contact_email", "responsible", "complaints", "currency", "time_zone",
)  # fmt: skip


class SessionForm(forms.Form):
    """Where to sign out: on one other device, or on all others."""

    out = forms.RegexField(r"\A(?:others|[0-9]{1,9})\Z")


class ProfileForm(forms.Form):
    """How one appears to colleagues."""

    name = forms.CharField(
        label="Name",
        max_length=150,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    username = forms.CharField(
        label="User name",
        max_length=150,
        validators=[UnicodeUsernameValidator()],
        help_text="You can sign in with this or with your e-mail.",
        widget=forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "username"}),
    )
    email = forms.EmailField(
        label="E-mail",
        max_length=_LONGEST_LOGIN,
        required=False,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )

    organisation = forms.CharField(
        label="Organisation",
        max_length=120,
        required=False,
        help_text="Who runs your studies, such as “Language Lab, Example University”.",
        widget=forms.TextInput(attrs={"autocomplete": "organization"}),
    )
    contact_email = forms.EmailField(
        label="E-mail for questions",
        required=False,
        help_text="Participants read it. Empty: your own address.",
    )
    responsible = forms.CharField(
        label="Responsible for the data",
        max_length=200,
        required=False,
        help_text="Usually the university or company. Empty: the organisation above.",
    )
    complaints = forms.CharField(
        label="Complaints go to",
        max_length=200,
        required=False,
        help_text="An address, such as your data protection officer’s. Empty: the e-mail above.",
    )
    currency = forms.CharField(
        label="Currency",
        required=False,
        validators=[RegexValidator(r"\A[A-Z]{3}\Z", "Enter three capital letters, such as GBP.")],
        help_text="Three letters, such as GBP, EUR or USD.",
    )
    time_zone = forms.ChoiceField(
        label="Time zone",
        required=False,
        choices=lambda: [(name, name.replace("_", " ")) for name in list_time_zones()],
    )
    mail = forms.ChoiceField(
        label="Send me a message",
        choices=MailChoice.When.choices,
        required=False,
        widget=forms.RadioSelect,
        help_text="At most one a day. It never contains participants’ data. "
        "Your studies always show what needs you.",
    )

    def __init__(self, data: Any = None, *, user: User) -> None:
        self.user = user
        profile = find_profile(user)
        initial = {
            **{name: getattr(profile, name) for name in PROFILE},
            "name": user.get_full_name(),
            "username": user.username,
            "email": user.email,
            "mail": getattr(user, "mail_choice", MailChoice()).when,
        }
        super().__init__(data, initial=initial)
        local = now().astimezone(zone_of(user))
        self.fields["time_zone"].help_text = (
            f"It is {local:%H:%M} there now. Every time you see and every date you enter uses it. "
            "Files always use UTC."
        )

    @property
    def changes_sign_in(self) -> bool:
        """Return whether one signs in by another name or address afterwards."""
        data = self.cleaned_data
        is_named_otherwise = data["username"] != self.user.username
        return is_named_otherwise or data["email"] != self.user.email.lower()

    def clean_username(self) -> str:
        username: str = self.cleaned_data["username"]
        if find_accounts(username).exclude(pk=self.user.pk).exists():
            raise forms.ValidationError("This user name is taken.", code="taken")
        return username

    def clean_email(self) -> str:
        email = self.cleaned_data["email"].lower()
        if email and find_accounts(email).exclude(pk=self.user.pk).exists():
            raise forms.ValidationError("Another account uses this address.", code="taken")
        return email

    def clean_currency(self) -> str:
        return self.cleaned_data["currency"] or self.initial["currency"]

    def clean_time_zone(self) -> str:
        return self.cleaned_data["time_zone"] or self.initial["time_zone"]
