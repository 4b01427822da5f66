"""A study as one file: packed for anyone to read, checked, and made again elsewhere."""
