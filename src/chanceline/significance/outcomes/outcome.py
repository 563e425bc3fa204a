"""What an outcome is: scores, words, a measure of predictions.

Everything that depends on the kind of an outcome is a method here. A further kind is a further
class; nothing else has to know it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

from numpy.typing import NDArray

from chanceline._arrays import Bools, Floats, Ints
from chanceline.prediction.folds import Seed
from chanceline.significance.outcomes.contrast import Contrast
from chanceline.significance.outcomes.deal import deal_in_order
from chanceline.significance.outcomes.held_out_fits import HeldOutPredictions
from chanceline.significance.outcomes.measures import Expectation
from chanceline.significance.outcomes.pictures import ObservedAndPredicted, Picture


class LinearOutputs(NamedTuple):
    """A rule as sums over features.

    Attributes
    ----------
    names : of what is predicted.
    weights : (features, outputs)
    intercepts : (blocks, outputs) one row for the average block, then one for every other, if there
        are any.
    """

    names: tuple[str, ...]
    weights: Floats
    intercepts: Floats


class Outcome(ABC):
    """An outcome of every sample.

    Attributes
    ----------
    name : what the user calls it: the column's name.
    kind : one word for JSON.
    noun : what is permuted, in the plural, as a sentence says it.
    residuals_are_exchangeable : whether what covariates leave of the scores may be permuted
        (Freedman and Lane 1983). It may where the outcome is a number plus noise.
    """

    name: str
    kind: ClassVar[str]
    noun: ClassVar[str]
    residuals_are_exchangeable: ClassVar[bool] = False

    @property
    @abstractmethod
    def scores(self) -> Floats:
        """(samples, q) centred; the test permutes the rows."""

    @abstractmethod
    def take(self, rows: Bools | Ints) -> Self:
        """The outcome of some samples."""

    @property
    @abstractmethod
    def values(self) -> NDArray[Any]:
        """(samples,) or (samples, columns): equal rows are equal outcomes."""

    @abstractmethod
    def taken_for(self) -> str:
        """The sentence that says what the outcome is taken for."""

    @property
    def targets(self) -> Floats:
        """(samples, columns) what a rule fits, the same for a sample among any others. By default
        the scores.
        """
        return self.scores

    @property
    def fold_order(self) -> Floats:
        """(samples,) by which samples are sorted before they are dealt to folds."""
        return self.scores[:, 0]

    def deal_to_folds(self, unit_of_sample: Ints, *, n_folds: int, seed: Seed) -> Ints:
        """A fold for every sample, (samples,), so that outcomes are alike in all folds.

        Parameters
        ----------
        unit_of_sample : (samples,) samples of a unit have the same number, and stay together.
        n_folds : how many folds there are, if there are as many units.
        seed : of the random order.
        """
        return deal_in_order(self.fold_order, unit_of_sample, n_folds=n_folds, seed=seed)

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """Narrower questions, asked after that about the whole outcome."""
        return ()

    def predictions(self, fitted: Floats, training_fits: Floats, training: Self) -> Floats:
        """What fitted targets predict: (samples, columns of predictions). By default themselves.

        Parameters
        ----------
        fitted : (samples, targets) of the samples to predict.
        training_fits : (training samples, targets) fitted by rules whose features were weighed
            without the sample.
        training : the outcome of the training samples.
        """
        return fitted

    def linear_outputs(
        self, weights: Floats, intercepts: Floats, training_fits: Floats
    ) -> LinearOutputs:
        """A rule for the targets as sums over features that predict. By default the targets.

        Parameters
        ----------
        weights : (features, targets) of the rule.
        intercepts : (blocks, targets) as in `LinearOutputs`.
        training_fits : as in `predictions`.
        """
        names = [self.predicted_name]
        n_targets = intercepts.shape[1]
        if n_targets > 1:
            names = [f"{self.predicted_name} {number + 1}" for number in range(n_targets)]
        return LinearOutputs(tuple(names), weights, intercepts)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the p-value takes for granted besides exchangeable samples, in words."""
        return ()

    @property
    def predicted_name(self) -> str:
        """What a formula calls the prediction."""
        return self.name

    def named(self, predictions: Floats) -> NDArray[Any]:
        """Predictions (samples, columns) as a user sees them: (samples,). By default numbers."""
        return predictions[:, 0]

    def picture(self, held_out: HeldOutPredictions) -> Picture:
        """What the picture shows of predictions of samples left out."""
        return ObservedAndPredicted(
            observed=self.fold_order,
            predicted=held_out.mean_prediction[:, 0],
            observed_words=self.name,
            predicted_words=f"{self.predicted_name}, predicted",
        )

    @abstractmethod
    def expectation(self, held_out: HeldOutPredictions) -> Expectation:
        """How good predictions of samples left out are, in the outcome's own measure."""
