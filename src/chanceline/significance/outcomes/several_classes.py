"""Several classes as the outcome: scores are orthonormal contrasts of their indicators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from chanceline._arrays import Bools, Floats, Ints
from chanceline.errors import InputError
from chanceline.prediction.folds import Seed
from chanceline.significance.outcomes.contrast import Contrast
from chanceline.significance.outcomes.deal import deal_by_class
from chanceline.significance.outcomes.held_out_fits import HeldOutPredictions
from chanceline.significance.outcomes.measures import (
    Expectation,
    balanced_error,
    confusion_matrix,
    error_rate,
)
from chanceline.significance.outcomes.orthonormal import orthonormal_columns
from chanceline.significance.outcomes.outcome import LinearOutputs, Outcome
from chanceline.significance.outcomes.pictures import ConfusionPicture, Picture

# More classes are compared with the rest only: pairs would be too many to shuffle.
MAX_CLASSES_FOR_PAIRS = 8
# Strength of the penalty of the multinomial regression on fitted indicators, as scikit-learn's C.
# There are few of these, so that the penalty hardly matters.
INVERSE_PENALTY = 10.0
MULTINOMIAL_ITERATIONS = 1000
# Fitted indicators that vary less are constant up to rounding.
SMALLEST_SPREAD = 1e-9


class MultinomialRegression(NamedTuple):
    """Probabilities of classes from fitted indicators.

    Attributes
    ----------
    codes : (classes,) of the classes that it knows.
    weights : (indicators, classes)
    intercepts : (classes,)
    """

    codes: Ints
    weights: Floats
    intercepts: Floats

    def probabilities(self, fitted: Floats) -> Floats:
        """Of the classes it knows, for fitted indicators (samples, indicators)."""
        probabilities: Floats = softmax(fitted @ self.weights + self.intercepts, axis=1)
        return probabilities


def fit_multinomial(fitted: Floats, codes: Ints) -> MultinomialRegression:
    """Multinomial regression of classes on fitted indicators, which turns these into probabilities.

    Parameters
    ----------
    fitted : (samples, indicators) a linear rule's fit to the 0/1 indicators of the classes.
    codes : (samples,) the true classes, numbered 0, 1, …; some may not occur.
    """
    # Imported here because loading scikit-learn takes a second, and nothing else needs it.
    from sklearn.linear_model import LogisticRegression

    # The penalty is meant for columns of SD 1. Constant columns are not scaled.
    spreads = fitted.std(axis=0)
    scale = np.where(spreads > SMALLEST_SPREAD, spreads, 1.0)
    model = LogisticRegression(C=INVERSE_PENALTY, max_iter=MULTINOMIAL_ITERATIONS)
    model.fit(fitted / scale, codes)

    # Weights for the unscaled columns, (indicators, classes), and intercepts (classes,).
    weights = model.coef_.T / scale[:, None]
    intercepts = model.intercept_
    if len(model.classes_) == 2:
        # For two classes scikit-learn has one column: the log odds of the second class.
        weights = np.column_stack([np.zeros(len(weights)), weights])
        intercepts = np.append(0.0, intercepts)
    return MultinomialRegression(model.classes_, weights, intercepts)


@dataclass(frozen=True, eq=False)
class ClassesOutcome(Outcome):
    """One of several classes for every sample.

    Attributes
    ----------
    name : what the user calls the outcome.
    class_names : of the classes, in order.
    codes : (samples,) numbers 0, 1, … of the classes.
    """

    name: str
    class_names: tuple[str, ...]
    codes: Ints
    kind: ClassVar[str] = "classes"
    noun: ClassVar[str] = "classes"

    @property
    def indicators(self) -> Floats:
        """(samples, classes) 1 in the column of the sample's class, else 0."""
        return (self.codes[:, None] == np.arange(len(self.class_names))).astype(float)

    @property
    def scores(self) -> Floats:
        indicators = self.indicators
        return orthonormal_columns(indicators - indicators.mean(axis=0))

    @property
    def targets(self) -> Floats:
        return self.indicators

    def take(self, rows: Bools | Ints) -> Self:
        return replace(self, codes=self.codes[rows])

    @property
    def values(self) -> NDArray[Any]:
        return self.codes

    def deal_to_folds(self, unit_of_sample: Ints, *, n_folds: int, seed: Seed) -> Ints:
        return deal_by_class(self.codes, unit_of_sample, n_folds=n_folds, seed=seed)

    def taken_for(self) -> str:
        sizes = np.bincount(self.codes, minlength=len(self.class_names))
        listed_sizes = [
            f"{size} {name}" for size, name in zip(sizes, self.class_names, strict=True)
        ]
        return (
            f"{self.name!r} is taken for {len(self.class_names)} classes "
            f"({', '.join(listed_sizes)})"
        )

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """The comparisons to test: every pair of classes, and every class against all others.

        Pairs are left out if there are too many classes. A contrast has the sign 1 or −1 for the
        samples of its two sides, and 0 for samples that it does not compare.
        """
        contrasts = []
        n_classes = len(self.class_names)
        if n_classes <= MAX_CLASSES_FOR_PAIRS:
            for first, second in combinations(range(n_classes), 2):
                is_first = self.codes == first
                is_second = self.codes == second
                signs = is_first.astype(np.int64) - is_second  # 1, −1, or 0
                words = f"{self.class_names[first]} against {self.class_names[second]}"
                contrasts.append(Contrast(words, signs))
        for code, name in enumerate(self.class_names):
            signs = np.where(self.codes == code, 1, -1)
            contrasts.append(Contrast(f"{name} against the rest", signs))
        return tuple(contrasts)

    def predictions(self, fitted: Floats, training_fits: Floats, training: Self) -> Floats:
        """Probabilities of the classes, by multinomial regression on the fitted indicators."""
        regression = fit_multinomial(training_fits, training.codes)
        probabilities = np.zeros((len(fitted), len(self.class_names)))
        # A class that no training sample has is never predicted.
        probabilities[:, regression.codes] = regression.probabilities(fitted)
        return probabilities

    def linear_outputs(
        self, weights: Floats, intercepts: Floats, training_fits: Floats
    ) -> LinearOutputs:
        """Log-odds of the classes: the multinomial regression of the fitted indicators."""
        regression = fit_multinomial(training_fits, self.codes)
        return LinearOutputs(
            names=self.class_names,
            weights=weights @ regression.weights,
            intercepts=intercepts @ regression.weights + regression.intercepts,
        )

    def named(self, predictions: Floats) -> NDArray[Any]:
        """The names of the most probable classes."""
        return np.array(self.class_names)[predictions.argmax(axis=1)]

    def picture(self, held_out: HeldOutPredictions) -> Picture:
        return ConfusionPicture(self.class_names, confusion_matrix(self.codes, held_out))

    def expectation(self, held_out: HeldOutPredictions) -> Expectation:
        """What to expect on new samples: the balanced error, the error, and the confusion matrix.

        Parameters
        ----------
        held_out : predicted probabilities of the classes for samples left out.
        """
        error = error_rate(self.codes, held_out)
        balanced = balanced_error(self.codes, held_out)
        return Expectation(
            measures=(balanced, error),
            # The whole interval lies below the error of guessing.
            better_than_guessing=balanced.interval[1] < balanced.guess,
            n_folds=held_out.n_folds,
            n_repeats=held_out.n_repeats,
            class_names=self.class_names,
            confusion=confusion_matrix(self.codes, held_out),
        )


def make_classes(
    class_of_sample: Sequence[str], outcome_name: str, class_names: Sequence[str]
) -> ClassesOutcome:
    """Make an outcome of several classes; raise `InputError` if a class has a single sample.

    Parameters
    ----------
    class_of_sample : (samples,) the name of every sample's class.
    outcome_name : the name of the outcome.
    class_names : the names of all classes, in the order of their codes 0, 1, ….
    """
    code_of_class = {class_name: code for code, class_name in enumerate(class_names)}
    codes = np.array([code_of_class[class_name] for class_name in class_of_sample], dtype=np.int64)
    sizes = np.bincount(codes, minlength=len(class_names))
    codes_of_small_classes = np.flatnonzero(sizes < 2)
    if len(codes_of_small_classes):
        small_class = class_names[codes_of_small_classes[0]]
        raise InputError(
            f"the class {small_class!r} of {outcome_name!r} has one sample, and two are needed; "
            "leave it out, or join classes."
        )
    return ClassesOutcome(name=outcome_name, class_names=tuple(class_names), codes=codes)
