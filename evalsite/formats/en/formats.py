"""As on every other page: the day in words, and the time of day in UTC."""

DATETIME_FORMAT = r"j F Y, H:i \U\T\C"
