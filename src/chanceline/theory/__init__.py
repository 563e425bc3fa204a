"""Replica theory of the perceptron with variable selection; knows no search, no experiments.

Numerics that know no physics: `quadrature`, `newton`, `continuation`, `dual`. The patterns:
`ensemble`, `gardner`, `closed_forms`, `first_moment`, `weight_clusters`, `bounds`. Inner integrals
in closed form, and their averages: `patterns`, `pattern_averages`, `supports`, `support_averages`.
Replica symmetry: `rs_equations` (with `rs_point`), `rs_branch`, `chance_line`, `typical`,
`symmetric`. Breaking between supports: `break_point`, `transition`, `parisi`, `rsb_recursions`,
`rsb`, `one_step`, `broken_capacity`, `broken_density`.
What users call: `capacity` and `solve`, with `solution`, `distributions` and `curve`. Other
ensembles: `free_entropy`, with `points` and `correlated`.

Words and letters that all modules share:

- Of N variables a rule may use ρN; such a choice is a *support*. ρ is the *density*.
- There are P = αN *patterns*, each with a label; α is the *load*. The rule has weights w and must
  have every pattern on its side. The largest load is the *capacity*, α_VS(ρ).
- Σ is the *entropy* of supports that separate the patterns, ln(their number)/N; 0 at the capacity.
- *Order parameters* are the few numbers that a large random problem depends on. They make Σ
  stationary, at its *saddle*. Solutions at one density form a *branch*, along which the load grows.
- q₀ is the *overlap* of the weights of two supports, their scalar product per variable; q₁ that of
  two weight vectors on one support. |w|² per variable, the *norm*, is ρ.
- K, E, F₁ and F₀ are the Lagrange *multipliers* (the paper's conjugates) of ρ, of the norm, of q₁
  and of q₀. K is the price of choosing a variable. V = F₁ − F₀ and d = E − V.
- χ is the *response*: a pattern that violates its constraint by v is corrected at the cost v²/2χ.
  Its *correction* T is v then, and 0 if the constraint is satisfied. Corrected patterns are
  *tight*: they end exactly at the margin, and their share is p₊.
- The *field* of a variable or a pattern is the Gaussian number that the others act on it by; ∫Dz
  averages over a standard Gaussian z.
- With *breaking* of replica symmetry supports fall into nested groups. p_i and G_i are the overlap
  and its multiplier by level i, and x_i, a *break point*, is the size of the groups. A *replicon*
  is a product that is above 1 where fewer levels do not do.
"""
