from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "evalsite.core.accounts"

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_in  # noqa: PLC0415 (apps are ready)

        from evalsite.core.accounts.sessions import begin_session  # noqa: PLC0415 (needs the models)

        user_logged_in.connect(begin_session, dispatch_uid="evalsite.core.accounts.begin_session")
