"""The command `evalsite`: a module for each of its commands, and a line in main.COMMANDS."""
