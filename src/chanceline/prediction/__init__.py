"""A sparse rule meant for new samples: how it is found, what to expect of it, how stable it is.

`fit_rule` (module `rule`) makes the rule, `expected_error` (`crossval`) cross-validates it,
`selection_stability` (`stability`) tells how stable its features are, and `scorecard` gives it
small whole weights.
"""
