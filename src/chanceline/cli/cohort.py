"""`chanceline predict` and `chanceline confirm`: the rule of a saved result on new samples.

Options that say how the new file is read are fields of `TableSettings`: see `settings_options`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chanceline._io import write_text
from chanceline._results import plain
from chanceline.cli.options import JsonOption, LabelOption, writable
from chanceline.cli.settings_options import options_from_settings
from chanceline.cli.terminal import print_json, say, show
from chanceline.cohort.fixed_settings import FIXED_SETTINGS
from chanceline.tables import TableSettings

if TYPE_CHECKING:
    from chanceline.cohort import Predictions

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

    Columns are found by name and treated as in the table tested: units, gaps, transform, covariates. What looks like
    other units is said first, on stderr.

    Example: [bold]chanceline predict result.json new.csv --out predicted.csv[/bold]
    """  # noqa: E501 (the help shows these lines as they are)
    from chanceline.cohort import load_result
    from chanceline.cohort.predictions import predictions_csv

    predictions = load_result(result).predict(data, rule=rule, settings=table_settings)
    for finding in predictions.findings:
        say(str(finding))
    if out is not None:
        write_text(out, predictions_csv(predictions))
        say(f"{predictions.summary()}; written to {out}")
    if json:
        print_json(predictions_record(predictions))
    elif out is None:
        print(predictions_csv(predictions), end="")


def predictions_record(predictions: Predictions) -> dict[str, Any]:
    """Predictions as plain values, with one object for each row."""
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
    label: LabelOption = None,
    rule: RuleOption = None,
    json: JsonOption = False,
) -> None:
    """Does the rule of a saved result hold on a second cohort?

    Its error with an exact interval, the area under the curve with an exact p-value, and whether its probabilities
    hold. The rule was fixed beforehand, so nothing has to be corrected for. Groups count once, pairs stay together;
    their columns are those of the table tested unless --groups, --pairs or --blocks name others (none: there are none).

    Example: [bold]chanceline confirm result.json new.csv --label outcome[/bold]
    """  # noqa: E501 (the help shows these lines as they are)
    from chanceline.cohort import load_result

    confirmation = load_result(result).confirm(data, label, rule=rule, settings=table_settings)
    if json:
        print_json(confirmation.to_dict())
        return
    show(f"{confirmation}\n\n  {confirmation.source}: {confirmation.n_rows} rows")
