"""Replica theory of the perceptron with variable selection; knows no search, no experiments.

Numerics that know no physics: `quadrature`, `newton`, `continuation`, `dual`. The patterns:
`ensemble`, `gardner`, `closed_forms`, `first_moment`, `weight_clusters`, `bounds`. Inner integrals
in closed form, and their averages: `patterns`, `pattern_averages`, `supports`, `support_averages`.
Replica symmetry: `rs_equations` (with `rs_point`), `rs_branch`, `chance_line`, `typical`,
`symmetric`. Breaking between supports: `break_point`, `transition`, `parisi`, `rsb_recursions`,
`rsb`, `one_step`, `broken_capacity`, `broken_density`.
What users call: `capacity` and `solve`, with `solution`, `distributions` and `curve`. Other
ensembles: `free_entropy`, with `points` and `correlated`.
"""
