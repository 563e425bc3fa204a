"""Compiled loops: how they are compiled, and the small ones that several searches share."""
