"""What to know about a table before believing a test on it: these look at the labels and change no
number. Their p-values are asymptotic or Bonferroni's.
"""
