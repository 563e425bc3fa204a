"""In a spectrum the band is the finding; the wavelength that is named is partly luck."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import chanceline
from chanceline.figures.style import COLOURS, figure_style, save

# Simulated: 80 near-infrared spectra, each with a smooth background of its own. In the adulterated
# half a broad band around 1450 nm is higher. With 20 other seeds structure is found every time, the
# wavelength named lies between 1420 and 1480 nm, and halves of the samples choose 7 to 22 of them.
rng = np.random.default_rng(0)
adulterated = np.repeat([False, True], 40)
wavelengths = np.arange(1000, 2000, 5)
places = np.arange(900, 2150, 50)
bumps = np.exp(-(((wavelengths - places[:, None]) / 60) ** 2) / 2)
background = rng.normal(size=(80, len(places))) @ bumps
band = np.exp(-(((wavelengths - 1450) / 60) ** 2) / 2)
spectra = background + 2.2 * np.outer(adulterated, band) + 0.5 * rng.normal(size=(80, 200))

table = pd.DataFrame(spectra, columns=[f"{wavelength} nm" for wavelength in wavelengths])
result = chanceline.separation_test(table, adulterated, expected_error=False)
print(f"{result.verdict}, p = {result.pvalue:.1g}, named: {', '.join(result.evidence.features)}")

# Which wavelength goes best with the classes in a half of the samples? Other halves, other names.
chosen = []
for _ in range(100):
    half = rng.permutation(80)[:40]
    spectra_and_class = np.column_stack([spectra[half], adulterated[half]])
    correlations = np.corrcoef(spectra_and_class, rowvar=False)[-1, :-1]
    chosen.append(wavelengths[np.argmax(np.abs(correlations))])
is_in_band = np.abs(np.array(chosen) - 1450) <= 60
print(f"100 halves choose {len(set(chosen))} wavelengths, {is_in_band.mean():.0%} are in the band")

with figure_style():
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(6.4, 4.2), sharex=True, layout="constrained"
    )
    above.plot(
        wavelengths, spectra[adulterated].mean(axis=0), color=COLOURS["here"], label="adulterated"
    )
    above.plot(wavelengths, spectra[~adulterated].mean(axis=0), color=COLOURS["rs"], label="pure")
    above.set(ylabel="mean absorbance, centred")
    above.legend(loc="upper right")
    below.hist(
        chosen, bins=np.arange(1352.5, 1550, 5), histtype="stepfilled", color=COLOURS["structure"]
    )
    below.set(xlabel="wavelength (nm)", ylabel="chosen in halves")
    save(figure, "spectra.svg")
