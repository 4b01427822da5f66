from django.apps import AppConfig


class BareConfig(AppConfig):
    name = "tests.bench.bare"
