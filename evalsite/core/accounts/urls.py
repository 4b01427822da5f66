"""Addresses of signing in and of one's account. The names are those that django-allauth uses."""

from allauth.account import views as allauth_views
from allauth.mfa.recovery_codes import views as code_views
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.urls import path, re_path
from django.views.generic import RedirectView

from evalsite.core.accounts import allauth_views as pages
from evalsite.core.accounts import views

_TO_ACCOUNT = RedirectView.as_view(pattern_name="account")

urlpatterns = [
    path("", views.show_account, name="account"),
    path("sessions/", views.sign_out_sessions, name="account-sessions"),
    path("login/", pages.SignIn.as_view(), name="account_login"),
    path("login/code/", pages.EnterCode.as_view(), name="mfa_authenticate"),
    path("confirm/", pages.Confirm.as_view(), name="account_reauthenticate"),
    path("confirm/code/", pages.ConfirmWithCode.as_view(), name="mfa_reauthenticate"),
    path("password/", pages.PasswordChange.as_view(), name="account_change_password"),
    path(
        "password/set/",
        login_required(pages.confirmed_before(pages.FirstPassword.as_view())),
        name="account_set_password",
    ),
    path("password/forgotten/", pages.PasswordForgotten.as_view(), name="account_reset_password"),
    path(
        "password/forgotten/sent/",
        allauth_views.password_reset_done,
        name="account_reset_password_done",
    ),
    re_path(
        r"^password/new/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>[^/]+)/$",
        pages.NewPassword.as_view(),
        name="account_reset_password_from_key",
    ),
    path(
        "password/new/done/",
        allauth_views.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
    path("email/<token>/", views.confirm_address, name="account-email"),
    path("two-factor/", pages.TwoFactorOn.as_view(), name="mfa_activate_totp"),
    path(
        "two-factor/off/",
        views.two_factor_required(pages.TwoFactorOff.as_view()),
        name="mfa_deactivate_totp",
    ),
    path(
        "two-factor/codes/",
        views.two_factor_required(code_views.view_recovery_codes),
        name="mfa_view_recovery_codes",
    ),
    path(
        "two-factor/codes/new/",
        views.two_factor_required(pages.NewCodes.as_view()),
        name="mfa_generate_recovery_codes",
    ),
    path(
        "two-factor/codes/file/",
        views.two_factor_required(code_views.download_recovery_codes),
        name="mfa_download_recovery_codes",
    ),
    # where django-allauth leads to, and this site has one page for all of it
    path("two-factor/state/", _TO_ACCOUNT, name="mfa_index"),
]

if settings.SSO_SERVER:
    from evalsite.core.accounts import sso_views

    urlpatterns += [
        path("sso/<provider_id>/login/", sso_views.start, name="openid_connect_login"),
        path("sso/<provider_id>/login/callback/", sso_views.end, name="openid_connect_callback"),
        path("sso/cancelled/", views.show_cancelled, name="socialaccount_login_cancelled"),
        path("sso/error/", views.show_cancelled, name="socialaccount_login_error"),
        path("sso/sign-up/", views.show_cancelled, name="socialaccount_signup"),
        path("sso/connections/", _TO_ACCOUNT, name="socialaccount_connections"),
    ]
