"""Settings that tests share wherever any will do: with two columns and up to 256 rows, all run the same programs.

To compile a round of moves takes ten seconds and more, to fit a few rows a fraction of one.
"""

from typing import Any

SHAPE: dict[str, Any] = {"n_hyperplanes": 2, "n_particles": 40}
