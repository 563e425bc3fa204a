"""The command line: one file a command, each with `register(app)`."""
