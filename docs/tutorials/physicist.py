"""The entropy of separating choices, its zero, and the line where replica symmetry breaks."""

import math

import chanceline

rho = 0.5
print(chanceline.solve(0.9, rho))  # below 2ρ typical choices separate: Σ = H₂(ρ)

# Above 2ρ the entropy falls ...
entropies = [chanceline.solve(alpha, rho).entropy for alpha in (1.2, 1.5, 1.75)]
print([f"{entropy:.6f}" for entropy in entropies])
assert math.log(2) > entropies[0] > entropies[1] > entropies[2] > 0

# ... and vanishes at the capacity, between the typical load 2ρ and the closed-form bounds.
end = chanceline.capacity(rho)
print(end)
assert end.bounds.cover_gardner < end.alpha < min(end.bounds.union, end.bounds.l0_gardner)

# The paper's stability condition is marginal everywhere, to rounding; what breaks is the symmetry between supports.
for alpha in (1.2, 1.7, 1.75):
    stability = chanceline.solve(alpha, rho).stability
    print(f"α = {alpha}: {stability}")
    assert abs(stability.within - 1) < 1e-9
    assert (stability.between < 1) == (alpha < end.replicon_alpha)

# The inverse: how few of N variables separate N patterns?
print(chanceline.density(1.0))
