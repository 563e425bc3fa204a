"""Pictures of the theory that `reproduce` does not draw."""

import numpy as np

from chanceline.figures.theory import draw_signs
from chanceline.theory.capacity import capacity_curve


def test_lines_with_free_and_with_given_signs():
    import matplotlib.pyplot as plt

    tables = [
        capacity_curve([0.1, 0.3, 0.6], signs=signs).to_frame() for signs in ("free", "given")
    ]
    chart, ax = plt.subplots()
    draw_signs(ax, *tables)
    lines = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    plt.close(chart)
    assert len(lines) == 6
    for table, whose in zip(tables, ("free", "given"), strict=True):
        np.testing.assert_array_equal(lines[f"{whose} signs: chosen inputs"], table["alpha_vs"])
        assert np.all(
            lines[f"{whose} signs: typical inputs"] < lines[f"{whose} signs: chosen inputs"]
        )
        assert np.all(lines[f"{whose} signs: limit"] >= lines[f"{whose} signs: chosen inputs"])
    assert lines["given signs: chosen inputs"][-1] == 1
