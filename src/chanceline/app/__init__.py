"""`chanceline app`: a page on this machine that takes a file, asks, tests and shows the verdict."""
