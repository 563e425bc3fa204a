"""A linear rule on some features, its errors counted exactly; and how to find one on given features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._results import Result
from chanceline.errors import ConvergenceError, InputError
from chanceline.perceptron.hinge import fit
from chanceline.perceptron.margin import (
    INSEPARABLE,
    NEGLIGIBLE,
    SEPARABLE,
    Margin,
    conflict_is_certain,
    conflict_is_exact,
    largest_margin,
)
from chanceline.perceptron.problem import Floats, Problem, contradicting_rows, make_problem
from chanceline.perceptron.rational import Decision, ExactTable, integer_columns, is_affordable
from chanceline.perceptron.workspace import Hinge, make_hinge

NO_CORRELATION = 1e-7  # a residual that no column has more of is left over
ROUNDINGS = 64  # of rational weights to doubles that are tried
LENGTH_STEP = Fraction(1, 2**30)  # by which the length of the weights differs between them


@dataclass(frozen=True, eq=False, repr=False)
class Rule(Result):
    """sign(x_S·w + b) on the features S, and the samples it gets wrong.

    Attributes
    ----------
    support : sorted indices of the columns of X it uses.
    weights, bias : in the units of X.
    wrong : the samples with y_μ(x_μ·w + b) ≤ 0: one on the threshold is an error.
    margin : min_μ y_μ(x_μ·w + b).
    multipliers : λ_μ ≥ 0 of sum 1, one for each sample, where the rule was fitted for the largest margin. If nothing
        separates, Σ λ_μ y_μ x_μ = 0 on the support (and Σ λ_μ y_μ = 0 with an intercept) up to rounding; `certify` checks
        this exactly.
    """

    support: NDArray[np.int64]
    weights: Floats
    bias: float
    wrong: NDArray[np.int64]
    margin: float = float("nan")
    multipliers: Floats | None = None

    kind = "exact"
    _derived = ("errors",)
    _hidden = ("multipliers",)

    @property
    def errors(self) -> int:
        return len(self.wrong)

    @property
    def separates(self) -> bool:
        return self.errors == 0

    @property
    def n_selected(self) -> int:
        return len(self.support)

    def summary(self) -> str:
        return f"{self.n_selected} features, {self.errors} errors, margin {self.margin:.3g}"


def strictly_right(columns: Floats, y: Floats, weights: Floats, bias: float) -> NDArray[np.bool_]:
    """Whether y_μ(x_μ·w + b) > 0, decided exactly: in rational arithmetic wherever rounding could matter."""
    margins = y * (columns @ weights + bias)
    size = np.abs(columns) @ np.abs(weights) + abs(bias)
    # Rounding of a dot product of n terms is below n·eps/(1 − n·eps) times the sum of absolute values.
    doubtful = np.abs(margins) <= 4 * (columns.shape[1] + 2) * np.finfo(float).eps * size
    right = margins > 0
    for i in np.flatnonzero(doubtful):
        exact = sum(
            (
                Fraction(x) * Fraction(w)
                for x, w in zip(columns[i].tolist(), weights.tolist(), strict=True)
            ),
            Fraction(bias),
        )
        right[i] = exact * int(y[i]) > 0
    return right


def make_rule(
    X: Floats, y: Floats, support: NDArray[np.int64], weights: Floats, bias: float
) -> Rule:
    """The rule with its errors counted exactly, whatever the rounding."""
    columns = X[:, support]
    wrong = np.flatnonzero(~strictly_right(columns, y, weights, bias))
    margin = float((y * (columns @ weights + bias)).min())
    return Rule(support, weights, float(bias), wrong, margin)


def rule_in_doubles(
    problem: Problem,
    support: NDArray[np.int64],
    decision: Decision,
    samples: ArrayLike | None = None,
) -> Rule | None:
    """The rule of rational weights that separate these samples (by default all), in doubles; None if no rounding does.

    Where the gap is a few units in the last place, not every rounding of the weights does. So weights of slightly different
    lengths are rounded, and with an intercept the bias is placed in the middle of what the rounded weights leave for it.
    """
    rows = np.arange(problem.n_samples) if samples is None else np.asarray(samples, dtype=np.int64)
    used = [place for place, slope in enumerate(decision.slopes) if slope != 0]
    chosen = np.asarray(support, dtype=np.int64)[used]
    slopes = [decision.slopes[place] for place in used]
    largest = max([*map(abs, slopes), abs(decision.bias)], default=Fraction(0))
    if largest == 0:
        return None if rows.size else make_rule(problem.X, problem.y, chosen, np.zeros(0), 0.0)
    parts = [float(part / largest) for part in (*slopes, decision.bias)]
    unit = 1 / (largest * Fraction(float(np.linalg.norm(parts))))
    columns = problem.X[:, chosen]
    labels = problem.y
    for attempt in range(ROUNDINGS):
        factor = unit * (1 + attempt * LENGTH_STEP)
        weights = np.array([float(slope * factor) for slope in slopes])
        bias = float(decision.bias * factor)
        if not strictly_right(columns[rows], labels[rows], weights, bias).all():
            if not problem.intercept:
                continue
            middle = _bias_between(columns[rows], labels[rows], weights)
            if middle is None:
                continue
            bias = middle
        rule = make_rule(problem.X, problem.y, chosen, weights, bias)
        if not np.isin(rule.wrong, rows).any():
            return rule
    return None


def _bias_between(columns: Floats, y: Floats, weights: Floats) -> float | None:
    """A double b with y_μ(x_μ·w + b) > 0 for all μ, exactly; None if there is none in the middle of where it must lie."""
    products = [
        sum(
            (Fraction(x) * Fraction(w) for x, w in zip(row, weights.tolist(), strict=True)),
            Fraction(0),
        )
        for row in columns.tolist()
    ]
    least = max(
        (-product for product, label in zip(products, y, strict=True) if label > 0), default=None
    )
    most = min(
        (-product for product, label in zip(products, y, strict=True) if label < 0), default=None
    )
    if least is None or most is None or least >= most:
        return None
    middle = float((least + most) / 2)
    return middle if least < Fraction(middle) < most else None


def separating_rule(
    table: ExactTable, support: NDArray[np.int64], samples: NDArray[np.int64] | None = None
) -> tuple[bool, Rule | None]:
    """Whether these columns separate these samples (by default all), decided in rational arithmetic, and a rule that does.

    There is no rule where nothing separates, or where weights that do are no doubles.
    """
    decision = table.decide(support, samples)
    if not decision.separable:
        return False, None
    return True, rule_in_doubles(table.problem, support, decision, samples)


def _chosen(problem: Problem, support: ArrayLike) -> NDArray[np.int64]:
    chosen = np.atleast_1d(np.asarray(support, dtype=np.int64))
    if chosen.size and (chosen.min() < 0 or chosen.max() >= problem.n_features):
        raise InputError(
            f"The support holds a column outside 0 … {problem.n_features - 1}; check the indices."
        )
    if np.unique(chosen).size != chosen.size:
        raise InputError("The support names a column twice; give every column once.")
    return np.sort(chosen)


def margin_on(
    problem: Problem,
    support: NDArray[np.int64],
    samples: NDArray[np.int64] | slice = slice(None),
    early: bool = False,
) -> Margin:
    """The largest margin on these columns and samples, the intercept last, with weights of the signs given."""
    free = np.zeros(problem.kept, dtype=np.bool_)
    signed = None if problem.signs is None else np.append(problem.signed[support], free)
    return largest_margin(problem.rows(support, samples), early=early, signed=signed)


def is_refuted(problem: Problem, support: NDArray[np.int64], margin: Margin) -> bool:
    """Whether the multipliers of a margin on these columns prove that nothing separates, rounding taken into account."""
    if margin.verdict != INSEPARABLE:
        return False
    rows = problem.rows(support)
    width = rows.shape[1]
    multipliers = margin.multipliers / margin.multipliers.sum()
    signed = np.append(problem.signed[support], np.zeros(problem.kept, dtype=np.bool_))
    # What the weights that must not be negative take up. All is checked below, so that this may be rounded.
    taken_up = np.maximum(-(multipliers @ rows)[signed], 0.0)
    taken_up[taken_up <= NEGLIGIBLE * np.abs(rows).max()] = 0.0
    every_row = np.vstack([rows, np.eye(width)[signed]])
    every_multiplier = np.append(multipliers, taken_up)
    matrix = np.zeros((width + 1, width + 1))
    if conflict_is_certain(
        every_row, problem.n_samples, width, every_multiplier, matrix, np.zeros_like(matrix)
    ):
        return True
    members = np.flatnonzero(multipliers > NEGLIGIBLE)
    extra = np.flatnonzero(signed)[taken_up > 0]
    room = np.zeros((width, members.size + extra.size), dtype=np.int64)
    return bool(
        conflict_is_exact(
            integer_columns(problem, support), np.arange(width), width, members, extra, room
        )
    )


def separate(
    X: ArrayLike,
    y: ArrayLike,
    support: ArrayLike,
    intercept: bool = False,
    signs: ArrayLike | None = None,
) -> Rule:
    """The perceptron of largest margin on the given columns, or multipliers that prove there is none.

    With `signs` (+1, −1 or 0 for every column of X) the weights have them, and those that are zero leave the support.
    What rounding could decide is decided in rational arithmetic. Only on more than 24 columns or 20,000 numbers a margin
    below 1e-8 of the longest row counts as none.
    """
    problem = make_problem(X, y, intercept, contradictions=True, signs=signs)
    chosen = _chosen(problem, support)
    if chosen.size + problem.kept == 0:
        return Rule(
            chosen,
            np.zeros(0),
            0.0,
            np.arange(problem.n_samples),
            0.0,
            np.eye(problem.n_samples)[0],
        )
    found = margin_on(problem, chosen)
    multipliers = found.multipliers / found.multipliers.sum()
    nothing = Rule(
        chosen, np.zeros(chosen.size), 0.0, np.arange(problem.n_samples), 0.0, multipliers
    )
    if found.verdict == SEPARABLE:
        rule = replace(
            scaled_rule(problem, chosen, *problem.split(found.weights)), multipliers=multipliers
        )
        if rule.separates:
            return rule
    if is_affordable(chosen.size + problem.kept, problem.n_samples):
        if is_refuted(problem, chosen, found):
            return nothing
        # Floating point leaves a doubt.
        separable, exact_rule = separating_rule(ExactTable(problem), chosen)
        if not separable:
            return nothing
        if exact_rule is None:
            raise ConvergenceError(
                "These columns separate by so narrow a gap that no weights in double precision were found; round their values."
            )
        return replace(exact_rule, multipliers=multipliers)
    if found.verdict == INSEPARABLE:
        return nothing
    if found.verdict == SEPARABLE:
        return rule
    raise ConvergenceError(
        "Whether these columns separate could not be decided in floating point; remove nearly equal columns."
    )


def fewest_errors(X: ArrayLike, y: ArrayLike, support: ArrayLike, intercept: bool = False) -> Rule:
    """Few errors on the given columns, by a heuristic: give up the worst patterns, then take back what fits.

    The squared hinge is fitted, the pattern with the largest slack given up, and so on until the rest separates. Then
    every pattern given up is tried again, those nearest to being right first, and kept if all still separate.
    """
    problem = make_problem(X, y, intercept, contradictions=True)
    chosen = _chosen(problem, support)
    if chosen.size + problem.kept == 0:
        return make_rule(problem.X, problem.y, chosen, np.zeros(0), 0.0)
    rows = problem.rows(chosen)
    right, given_up = np.arange(problem.n_samples), []
    separable, weights = fit_hinge(rows)
    while not separable and right.size > 1:
        given_up.append(int(right[np.argmin(rows[right] @ weights)]))
        right = right[right != given_up[-1]]
        separable, weights = fit_hinge(rows[right])
    for pattern in sorted(given_up, key=lambda pattern: -float(rows[pattern] @ weights)):
        trial = np.sort(np.append(right, pattern))
        if largest_margin(rows[trial], early=True).verdict == SEPARABLE:
            right = trial
    return scaled_rule(problem, chosen, *problem.split(largest_margin(rows[right]).weights))


def scaled_rule(
    problem: Problem, support: NDArray[np.int64], weights: Floats, constant: float
) -> Rule:
    """The rule of scaled weights, in the units of X. A weight that may not have its sign is zero, and leaves the support."""
    if problem.signs is not None:
        weights = np.where(problem.signed[support], np.maximum(weights, 0.0), weights)
        support, weights = support[weights != 0], weights[weights != 0]
    return make_rule(problem.X, problem.y, support, *problem.original(support, weights, constant))


def widest_rule(
    problem: Problem, support: NDArray[np.int64], weights: Floats, constant: float
) -> Rule:
    """The rule of scaled weights in the units of X, or that of largest margin on the samples it has right if no worse."""
    order = np.argsort(support)
    support = support[order].astype(np.int64)
    rule = scaled_rule(problem, support, weights[order], constant)
    right = np.setdiff1d(np.arange(problem.n_samples), rule.wrong)
    if support.size == 0 or right.size == 0:
        return rule
    wide = scaled_rule(problem, support, *problem.split(margin_on(problem, support, right).weights))
    return wide if wide.errors <= rule.errors else rule


def rule_on(X: Floats, y: Floats, support: NDArray[np.int64], intercept: bool) -> Rule:
    """The rule of largest margin on these features if they separate, else one that makes few errors."""
    support = np.asarray(support, dtype=np.int64)
    columns = X[:, support]
    rows = consistent_rows(columns, y)
    if intercept and (len(support) == 0 or np.all(y[rows] == y[rows[0]])):
        return constant_rule(X, y, support)
    if len(support) == 0:
        return make_rule(X, y, support, np.zeros(0), 0.0)
    everything = np.arange(len(support))
    try:
        found = separate(columns[rows], y[rows], everything, intercept)
        if found.separates:
            return make_rule(X, y, support, found.weights, found.bias)
    except ConvergenceError:
        # Not settled in floating point: whatever rule comes next is judged exactly all the same.
        pass
    few = fewest_errors(columns[rows], y[rows], everything, intercept)
    return make_rule(X, y, support, few.weights, few.bias)


def consistent_rows(X: Floats, y: Floats) -> NDArray[np.int64]:
    """Rows without the minority of every set of equal rows with both labels, which any rule gets wrong."""
    if not contradicting_rows(X, y):
        return np.arange(len(y))
    _, kind = np.unique(X, axis=0, return_inverse=True)
    kind = kind.ravel()
    balance = np.bincount(kind, weights=y)[kind]
    return np.flatnonzero((balance * y > 0) | ((balance == 0) & (y > 0)))


def constant_rule(X: Floats, y: Floats, support: NDArray[np.int64]) -> Rule:
    """Everybody belongs to the larger class, whatever the features; this takes an intercept."""
    larger = 1.0 if np.sum(y > 0) * 2 >= len(y) else -1.0
    return make_rule(X, y, support, np.zeros(len(support)), larger)


def fit_hinge(rows: NDArray[np.float64], signed: bool = False) -> tuple[bool, NDArray[np.float64]]:
    """The least squared hinge on all columns of the rows a_μ: whether every margin is positive, and the weights (signed: ≥ 0)."""
    n, weights = rows.shape[1], np.zeros(rows.shape[1])
    hinge = make_hinge(rows.T, n, n_unpenalized=0 if signed else n, nonnegative=np.full(n, signed))
    separable = add_greedily(hinge) if signed else fit(hinge)
    weights[hinge.support] = hinge.weights
    return separable, weights


def add_greedily(hinge: Hinge) -> bool:
    """Add the column of largest promise and refit, until all margins are positive or no column promises anything."""
    separable, tried = (
        bool(hinge.data.n_unpenalized) and fit(hinge),
        np.zeros(hinge.state.position.size, dtype=bool),
    )
    # Signed columns may leave again, and rounding could send one to and fro.
    for _ in range(4 * hinge.state.support.size):
        sizes = np.where(tried, np.float32(-1.0), promise(hinge))
        best = int(np.argmax(sizes))
        if separable or sizes[best] <= NO_CORRELATION or hinge.size == hinge.state.support.size:
            break
        separable = fit(hinge, add=best)
        # One that left at once waits until another has stayed.
        tried[best] = True
        tried &= hinge.state.position[best] < 0
    return separable


def promise(hinge: Hinge) -> NDArray[np.float32]:
    """|a_jᵀr| of every column that could be of use, r the slack of the active patterns; −1 for the others."""
    slack = hinge.state.active * (1.0 - hinge.state.margins)
    pulls = hinge.data.columns_float32 @ slack.astype(np.float32)
    useful = (hinge.state.position < 0) & ((pulls > 0) | ~hinge.data.nonnegative)
    return np.where(useful, np.abs(pulls), np.float32(-1.0))
