"""One file for each method of `chanceline.search`."""
