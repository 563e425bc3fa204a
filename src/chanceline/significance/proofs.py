"""Every rigorous bound by name, with what it is about, whether it gave the p-value or not."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chanceline.significance.observed import ObservedFit
from chanceline.significance.plan import Plan
from chanceline.significance.stages import LOG10_2, OverallP, Stage
from chanceline.tables.wording import plural


@dataclass(frozen=True)
class Proof:
    """A rigorous bound.

    Attributes
    ----------
    stage : which proof it is.
    log10_p : log₁₀ of the bound with everything that is paid for: errors counted after looking,
        two proofs in one stage.
    features, errors : what it is about; errors None for one feature alone.
    share : the p-value at which it decides.
    """

    stage: Stage
    log10_p: float
    features: tuple[str, ...]
    errors: int | None
    share: float

    def about(self) -> str:
        """`2 features with 3 errors, counted after looking`."""
        if self.errors is None:
            return f"{self.features[0]} alone"
        errors = plural(self.errors, "error") if self.errors else "no error"
        text = f"{plural(len(self.features), 'feature')} with {errors}"
        if self.stage is Stage.COUNTED_ERRORS:
            text += ", counted after looking"
        return text


def proofs_of(plan: Plan, observed: ObservedFit, overall: OverallP) -> tuple[Proof, ...]:
    """The proofs that say something, in the order of the stages."""
    proofs = [_declared_errors_proof(plan, observed), *_stage2_proofs(plan, observed)]
    # The one that decided also carries what the stage before it could have spent.
    final_proofs = [
        replace(proof, log10_p=overall.log10_p) if proof.stage is overall.stage else proof
        for proof in proofs
    ]
    return tuple(proof for proof in final_proofs if proof.log10_p < 0)


def _declared_errors_proof(plan: Plan, observed: ObservedFit) -> Proof:
    return Proof(
        stage=Stage.DECLARED_ERRORS,
        log10_p=observed.stage1.log10_p,
        features=plan.names_of(observed.rule.support),
        errors=observed.rule.errors,
        share=plan.spending.stage1_level,
    )


def _stage2_proofs(plan: Plan, observed: ObservedFit) -> list[Proof]:
    """The proofs of stage 2 of the test: by errors counted after looking, and by one feature.

    A proof is a p-value bounded without shuffles. Those of stage 2 are doubled, because two proofs
    share the level of the stage (Bonferroni).

    Parameters
    ----------
    plan : the level of stage 2, and the names of features.
    observed : the rules and the p-values that were found for the observed labels; its `stage2` is
        None if stage 2 was not needed.
    """
    proofs: list[Proof] = []
    if observed.stage2 is None:
        return proofs
    if observed.counted_rule is not None:
        counted_errors_proof = Proof(
            stage=Stage.COUNTED_ERRORS,
            log10_p=observed.stage2.log10_counted,
            features=plan.names_of(observed.counted_rule.support),
            errors=observed.counted_rule.errors,
            share=plan.spending.stage2_level,
        )
        proofs.append(counted_errors_proof)
    if observed.feature is not None:
        one_feature_proof = Proof(
            stage=Stage.ONE_FEATURE,
            log10_p=observed.stage2.log10_feature,
            features=(observed.feature.name,),
            errors=None,  # this proof counts no errors
            share=plan.spending.stage2_level,
        )
        proofs.append(one_feature_proof)
    # As p-values are logarithms, adding log₁₀ 2 doubles them.
    return [replace(proof, log10_p=proof.log10_p + LOG10_2) for proof in proofs]
