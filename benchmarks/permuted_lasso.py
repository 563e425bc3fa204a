"""The p-value of a lasso: cross-validated, then with the outcome permuted.

For a number `sklearn.linear_model.lasso_path`; for classes a multinomial regression with an L1 penalty (`multinomial_path`:
scikit-learn's takes too long for a hundred permutations); for survival `sksurv.linear_model.CoxnetSurvivalAnalysis`. The statistic is how
much the cross-validated loss lies below that of guessing, at the best penalty of a short path: squared error, log loss, or the
partial likelihood (Verweij and van Houwelingen 1993). Folds stay where they are while the outcome is permuted, and every
permutation has its own path, so that all are treated alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import lasso_path
from sksurv.linear_model import CoxnetSurvivalAnalysis

from chanceline.significance.outcomes.number import NumberOutcome
from chanceline.significance.outcomes.outcome import Outcome
from chanceline.significance.outcomes.several_classes import ClassesOutcome
from chanceline.significance.outcomes.survival import SurvivalOutcome

N_FOLDS = 5
# Penalties, as shares of the smallest that leaves no feature in; that one itself is guessing.
SMALLEST_SHARE = 0.3
N_PENALTIES = 5
SHARES = np.geomspace(1.0, SMALLEST_SHARE, N_PENALTIES + 1)[1:]
# Steps of the multinomial regression for each penalty: what it minimises is then within 0.01 % of scikit-learn's minimum.
N_GRADIENTS = 80

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Fold(NamedTuple):
    """One fold: its samples, the others, and the features in units of the others' mean and spread.

    Attributes
    ----------
    is_left_out : (samples,)
    X : (samples, features) all samples.
    """

    is_left_out: Bools
    X: Floats

    @property
    def training(self) -> Floats:
        return self.X[~self.is_left_out]

    @property
    def left_out(self) -> Floats:
        return self.X[self.is_left_out]


# Of the permutations' outcomes, the loss of guessing less that of every penalty, summed over the samples of one fold:
# (permutations, penalties).
Gains = Callable[[Fold, Sequence[Outcome]], Floats]


def lasso_pvalue(X: Floats, outcome: Outcome, n_permutations: int, seed: int) -> float:
    """The share of permutations, the observed one included, that gain as much as it.

    Parameters
    ----------
    X : (samples, features)
    outcome : of the samples.
    n_permutations : how many are drawn.
    seed : of folds and permutations.
    """
    rng = np.random.default_rng([seed, n_permutations])
    folds = list(make_folds(X, rng))
    permuted = [outcome.take(rng.permutation(len(X))) for _ in range(n_permutations)]
    gains_of_fold = GAINS[type(outcome)]
    gains = sum(gains_of_fold(fold, [outcome, *permuted]) for fold in folds)
    statistics = np.max(gains, axis=1)
    return float(np.mean(statistics >= statistics[0] - 1e-9))


def make_folds(X: Floats, rng: np.random.Generator) -> Iterator[Fold]:
    """Folds of nearly equal size, drawn once for all permutations."""
    fold_of_sample = rng.permutation(len(X)) % N_FOLDS
    for number in range(N_FOLDS):
        is_left_out = fold_of_sample == number
        training = X[~is_left_out]
        scaled = (X - training.mean(axis=0)) / training.std(axis=0)
        yield Fold(is_left_out, np.asfortranarray(scaled))


def number_gains(fold: Fold, outcomes: Sequence[NumberOutcome]) -> Floats:
    """How much smaller the squared errors are than those of the mean."""
    return np.array([gains_of_number(fold, outcome.numbers) for outcome in outcomes])


def gains_of_number(fold: Fold, numbers: Floats) -> Floats:
    """As `number_gains`, of one permutation: (penalties,)."""
    training = numbers[~fold.is_left_out]
    left_out = numbers[fold.is_left_out] - training.mean()
    centred = training - training.mean()
    largest = np.abs(fold.training.T @ centred).max() / len(centred)
    _, coefficients, _ = lasso_path(fold.training, centred, alphas=largest * SHARES)
    errors = left_out[:, None] - fold.left_out @ coefficients
    return np.sum(left_out**2) - np.sum(errors**2, axis=0)


def classes_gains(fold: Fold, outcomes: Sequence[ClassesOutcome]) -> Floats:
    """How much smaller the log loss is than that of the classes' shares."""
    indicators = np.stack([outcome.indicators for outcome in outcomes], axis=2)
    training = indicators[~fold.is_left_out]
    left_out = indicators[fold.is_left_out]
    guessing_loss = -np.sum(left_out * np.log(training.mean(axis=0)), axis=(0, 1))
    gains = []
    for weights, intercepts in multinomial_path(fold.training, training):
        log_probabilities = log_softmax(product(fold.left_out, weights) + intercepts)
        gains.append(guessing_loss + np.sum(left_out * log_probabilities, axis=(0, 1)))
    return np.array(gains).T


def multinomial_path(X: Floats, indicators: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Multinomial regressions with an L1 penalty, for every penalty, of all permutations at once.

    Accelerated proximal gradients (Beck and Teboulle 2009), each penalty from the solution of the one before.

    Parameters
    ----------
    X : (samples, features) centred.
    indicators : (samples, classes, permutations) 1 in the column of the sample's class, else 0.

    Yields
    ------
    (features, classes, permutations) weights and (classes, permutations) intercepts.
    """
    X = X.astype(np.float32)
    indicators = indicators.astype(np.float32)
    shares_of_classes = indicators.mean(axis=0)
    # Of the likelihood, at no feature.
    slopes = np.abs(product(X.T, indicators - shares_of_classes))
    largest = slopes.max(axis=(0, 1))
    # The softmax has no second derivative above 1/2.
    step = np.float32(2 / np.linalg.norm(X, ord=2) ** 2)
    intercept_step = np.float32(2 / len(X))
    weights = np.zeros_like(slopes)
    intercepts = np.log(shares_of_classes)
    for share in SHARES.astype(np.float32):
        ahead = weights
        momentum = 1.0
        for _ in range(N_GRADIENTS):
            residuals = indicators - np.exp(log_softmax(product(X, ahead) + intercepts))
            intercepts = intercepts + intercept_step * residuals.sum(axis=0)
            moved = ahead + step * product(X.T, residuals)
            penalty = step * share * largest
            next_weights = moved - np.clip(moved, -penalty, penalty)
            next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            inertia = np.float32((momentum - 1) / next_momentum)
            ahead = next_weights + inertia * (next_weights - weights)
            weights = next_weights
            momentum = next_momentum
        yield weights, intercepts


def product(matrix: Floats, columns: Floats) -> Floats:
    """Σ_j matrix_ij columns_jcp, of all classes c and permutations p in one go."""
    flat = matrix @ columns.reshape(len(columns), -1)
    return flat.reshape(len(matrix), *columns.shape[1:])


def log_softmax(logits: Floats) -> Floats:
    """Logarithms of the probabilities of the classes: (samples, classes, permutations)."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def survival_gains(fold: Fold, outcomes: Sequence[SurvivalOutcome]) -> Floats:
    """How much the samples left out add to the partial likelihood, beyond what they add for no feature."""
    return np.array([gains_of_survival(fold, outcome) for outcome in outcomes])


def gains_of_survival(fold: Fold, outcome: SurvivalOutcome) -> Floats:
    """As `survival_gains`, of one permutation: (penalties,)."""
    times = outcome.times
    events = outcome.events
    is_training = ~fold.is_left_out
    records = np.array(
        list(zip(events[is_training], times[is_training], strict=True)),
        dtype=[("event", bool), ("time", float)],
    )
    model = CoxnetSurvivalAnalysis(
        l1_ratio=1.0, n_alphas=N_PENALTIES + 1, alpha_min_ratio=SMALLEST_SHARE
    )
    model.fit(fold.training, records)
    risks = fold.X @ np.column_stack([np.zeros(fold.X.shape[1]), model.coef_[:, 1:]])
    of_all = partial_likelihoods(times, events, risks)
    of_training = partial_likelihoods(times[is_training], events[is_training], risks[is_training])
    added = of_all - of_training
    return added[1:] - added[0]


def partial_likelihoods(times: Floats, events: Bools, risks: Floats) -> Floats:
    """Cox's log partial likelihood of log hazards (samples, penalties), without ties: (penalties,)."""
    latest_first = np.argsort(-times)
    ordered = risks[latest_first]
    # Σ over the samples at risk, those whose time is not smaller.
    log_at_risk = np.logaddexp.accumulate(ordered, axis=0)
    return np.sum((ordered - log_at_risk)[events[latest_first]], axis=0)


GAINS: dict[type[Outcome], Gains] = {
    NumberOutcome: number_gains,
    ClassesOutcome: classes_gains,
    SurvivalOutcome: survival_gains,
}
