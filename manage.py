#!/usr/bin/env python
"""The management commands of the site: short for `python -m evalsite manage`."""

import sys

from evalsite.__main__ import main

if __name__ == "__main__":
    sys.argv.insert(1, "manage")
    sys.exit(main())
