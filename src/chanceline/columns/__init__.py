"""Tables by their columns, wherever these are kept: a stretch of columns is read at a time."""
