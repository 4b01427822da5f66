"""Amounts of money in words."""

from decimal import Decimal

_SIGNS = {"GBP": "£", "EUR": "€", "USD": "$"}


def format_money(amount: Decimal, currency: str) -> str:
    """Return an amount such as £52.50, or 52.50 CHF where no symbol is known for the currency."""
    sign = _SIGNS.get(currency)
    return f"{sign}{amount:,.2f}" if sign else f"{amount:,.2f} {currency}"
