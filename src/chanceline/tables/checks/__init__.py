"""What to know about a table before believing a test on it: these look at the labels and change no
number. Their p-values are asymptotic, Bonferroni's, or by shuffles.

Limits of the traces (batches, near rows, lone columns, order of rows, shifts, filters, corrections,
fills) were chosen on published tables and simulated ones, and checked on other simulated ones:
`benchmarks/traps.py` and `benchmarks/clean_tables.py` count what is seen, and false alarms.
"""
