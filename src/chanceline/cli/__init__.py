"""The command line: one file for each command, each with `register(app)`."""
