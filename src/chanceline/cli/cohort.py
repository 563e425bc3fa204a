"""`chanceline predict` and `chanceline confirm`: the rule of a saved result on new samples.

Options that say how the new file is read are fields of `TableSettings`: see `settings_options`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chanceline._io import write_text
from chanceline._results import plain
from chanceline.cli.options import (
    EventOption,
    JsonOption,
    OutcomeLabelOption,
    TimeOption,
    writable,
)
from chanceline.cli.settings_options import options_from_settings
from chanceline.cli.terminal import print_json, say, show
from chanceline.cohort.fixed_settings import FIXED_SETTINGS
from chanceline.errors import InputError
from chanceline.tables import TableSettings

if TYPE_CHECKING:
    from chanceline.cohort import (
        Confirmation,
        OutcomeConfirmation,
        OutcomePredictions,
        Predictions,
    )

# Settings that matter only where classes are known.
SETTINGS_OF_LABELS = ("unlabelled", "groups", "independent")

ResultArgument = Annotated[
    Path, typer.Argument(help="What `chanceline test … --save` wrote.", show_default=False)
]
NewDataArgument = Annotated[
    Path,
    typer.Argument(
        help="New samples: a table as for `chanceline test`, its columns found by name.",
        show_default=False,
    ),
]
RuleOption = Annotated[
    str | None,
    typer.Option(
        "--rule",
        help="rule (to use, the default), few (features), points (of a scorecard) or separating.",
        show_default=False,
    ),
]


@options_from_settings(
    table_settings=TableSettings, excluded_fields=(*FIXED_SETTINGS, *SETTINGS_OF_LABELS)
)
def predict(
    table_settings: TableSettings,
    result: ResultArgument,
    data: NewDataArgument,
    rule: RuleOption = None,
    out: Path | None = typer.Option(
        None, "--out", help="Write the CSV here instead of stdout.", callback=writable
    ),
    json: JsonOption = False,
) -> None:
    """The rule of a saved result on new samples: a CSV with score, probability and class of every row.

    Of other outcomes than two classes: a number, a class with probabilities, or a risk.
    Columns are found by name and treated as in the table tested: units, gaps, transform, covariates. What looks like
    other units is said first, on stderr.

    Example: [bold]chanceline predict result.json new.csv --out predicted.csv[/bold]
    """  # noqa: E501 (the help shows these lines as they are)
    from chanceline.cohort import SavedOutcome, load_result
    from chanceline.cohort.predictions import predictions_csv

    saved = load_result(result)
    predictions: Predictions | OutcomePredictions
    if isinstance(saved, SavedOutcome):
        # An outcome other than two classes has a single rule, so --rule is refused.
        refuse_rule_choice(rule)
        predictions = saved.predict(data, settings=table_settings)
    else:
        predictions = saved.predict(data, rule=rule, settings=table_settings)
    for finding in predictions.findings:
        say(str(finding))

    # The CSV goes to the file of --out. Stdout gets the JSON of --json or, without --out and
    # --json, the CSV.
    if out is not None:
        write_text(out, predictions_csv(predictions))
        say(f"{predictions.summary()}; written to {out}")
    if json:
        print_json(predictions_record(predictions))
    elif out is None:
        print(predictions_csv(predictions), end="")


def refuse_rule_choice(rule: str | None) -> None:
    """Refuse --rule where there is one rule only."""
    if rule is not None:
        raise InputError("--rule chooses among rules of two classes; leave it out.")


def predictions_record(predictions: Predictions | OutcomePredictions) -> dict[str, Any]:
    """The predictions as plain data for JSON, with one object for each row of the table.

    Predictions of two classes are converted here; those of other outcomes convert themselves. The
    second of the two classes is the positive one.
    """
    from chanceline.cohort import OutcomePredictions

    if isinstance(predictions, OutcomePredictions):
        return predictions.to_record()
    rows = predictions.to_frame().to_dict(orient="records")
    return {
        "source": predictions.source,
        "rule": predictions.rule,
        "classes": list(predictions.classes),
        "positive_class": predictions.classes[1],
        "findings": [str(finding) for finding in predictions.findings],
        "rows": plain(rows),
        "kind": predictions.kind,
    }


@options_from_settings(table_settings=TableSettings, excluded_fields=FIXED_SETTINGS)
def confirm(
    table_settings: TableSettings,
    result: ResultArgument,
    data: NewDataArgument,
    label: OutcomeLabelOption = None,
    time: TimeOption = None,
    event: EventOption = None,
    rule: RuleOption = None,
    json: JsonOption = False,
) -> None:
    """Does the rule of a saved result hold on a second cohort?

    Its error with an exact interval, the area under the curve with an exact p-value, and whether its probabilities
    hold. The rule was fixed beforehand, so nothing has to be corrected for. Groups count once, pairs stay together;
    their columns are those of the table tested unless --groups, --pairs or --blocks name others (none: there are none).

    Of a number R² and the rank correlation, of several classes the errors, of times (--time, --event) the concordance,
    with intervals and a permutation test.

    Example: [bold]chanceline confirm result.json new.csv --label outcome[/bold]
    """  # noqa: E501 (the help shows these lines as they are)
    from chanceline.cohort import SavedOutcome, load_result

    saved = load_result(result)
    confirmation: Confirmation | OutcomeConfirmation
    if isinstance(saved, SavedOutcome):
        # An outcome other than two classes has a single rule, so --rule is refused.
        refuse_rule_choice(rule)
        confirmation = saved.confirm(data, label, time=time, event=event, settings=table_settings)
    elif time is not None or event is not None:
        raise InputError("the result tells two classes apart; say --label, no --time or --event.")
    else:
        confirmation = saved.confirm(data, label, rule=rule, settings=table_settings)
    if json:
        print_json(confirmation.to_dict())
        return
    show(f"{confirmation}\n\n  {confirmation.source}: {confirmation.n_rows} rows")
