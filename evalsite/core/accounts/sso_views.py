"""Signing in with an organisation; its server may be out of reach."""

from typing import Any

from allauth.socialaccount.providers.openid_connect import views as openid_views
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from requests import RequestException


def start(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    """Lead to the organisation's sign-in page."""
    return _ask(openid_views.login, request, provider_id)


def end(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    """Sign in whom the organisation names."""
    return _ask(openid_views.callback, request, provider_id)


def _ask(view: Any, request: HttpRequest, provider_id: str) -> HttpResponseBase:
    try:
        response: HttpResponseBase = view(request, provider_id)
    except RequestException:
        return render(request, "account/sso_refused.html", {"has_failed": True}, status=502)
    return response
