"""Outcomes other than two classes: a number, several classes, the time to an event.

An outcome is a matrix of scores, one row for each sample (`outcome`). The test permutes the rows
against the table (`score_design`), follows the same forward path for all columns of scores at once
(`score_paths`), and combines it as for two classes (`score_shuffles`).
"""
