from django.apps import AppConfig


class ExchangeConfig(AppConfig):
    name = "evalsite.exchange"
