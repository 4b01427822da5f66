"""`python -m evalsite` is the command `evalsite`."""

import sys
from pathlib import Path

# Python puts the current folder first, where a file of anyone's could replace a module
if sys.path[0] == str(Path.cwd()) != str(Path(__file__).parents[1]):
    del sys.path[0]

try:
    from evalsite.command_line.main import main
except ModuleNotFoundError as error:
    if error.name != "django":
        raise
    sys.exit("This Python has no Django. Run make run once, then .venv/bin/python -m evalsite …")

if __name__ == "__main__":
    sys.exit(main())
