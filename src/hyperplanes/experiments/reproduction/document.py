"""The document: what the paper prints, what was found, the figures, and what could not be reproduced."""

from collections import Counter
from collections.abc import Mapping, Sequence

from hyperplanes.experiments.reproduction import names
from hyperplanes.experiments.reproduction.comparison import PROGRAM, distance_from_paper
from hyperplanes.experiments.reproduction.effort import Effort
from hyperplanes.experiments.reproduction.figures import FIGURES
from hyperplanes.experiments.reproduction.markup import NOT_RUN, Table
from hyperplanes.experiments.reproduction.results import Results
from hyperplanes.experiments.reproduction.studies import STUDIES

TITLE = "# The paper's tables and figures, reproduced"
QUICK = """
**This is a quick version with tiny sizes. It shows that everything runs, and says nothing about any method.**
"""
INTRODUCTION = f"""
Written by `make reproduce`, which is `{PROGRAM} all --document docs/reproduction.md`, from the cells in its folder: one
file for each method, data set and repeat. "Paper" is what the paper prints; "its sampler here" is `sampler="paper"`,
which is told the right number of hyperplanes as in the paper; "ours" has nothing told, not even that number (|P|),
unless a row says so. Figures are means (standard deviations over repeats) [repeats]. Every command in the tables
computes what is missing and leaves what is there; `--repeats` and `--jobs` say how much and how many at a time.
`make reproduce-report` writes this document from the files alone.
"""
ABOUT = {
    "sim1": "5000 rows in the square, 75% to fit, two lines where the truth bends, noise 0.1: nothing can have a lower "
    "RMSE than about 0.1. Its tables are `tab:sim1` and both panels of its second figure.",
    "sim2": "As the first, with p columns and |P| hyperplanes drawn uniformly: with many columns most of them miss the "
    "data. P-values are those of its `tab:sim2`. BART and NGBoost are left out: 18 data sets of 20 repeats each would "
    "be 360 fits of either, of up to 200 columns. The cells of ours with 20 columns and more that are kept were "
    "computed when the share of hyperplanes that attend to a column was Beta(1/2, p/8) for any p (now Beta(8/p, 2)).",
    "sim3": "40 hyperplanes in two columns: as a whole, as four independent processes of ten each that are averaged "
    "(decmp1), as four boxes along the first column (decmp2). Ours are the library's forms of them (parts that add up "
    "and are moved in turn, hence no independent jobs, and boxes cut where the rows are), and the paper's forms with "
    "our sampler. All are told the number of hyperplanes, as in the paper: 40, or ten for each part. One CPU each; the "
    "seconds of one of four independent jobs are a quarter of all.",
    "sim4": "The first ten data sets of the first study. Intervals of a new response, and of the true function, which "
    "the response's noise would hide. XGBoost has 40 trees; the network has as many hidden units as there are "
    "hyperplanes. Both are fitted to bootstraps; the noise is what errors on rows left out have beyond the spread of "
    "the fits.",
    "abalone": "Rings from seven measurements, all scaled to [0, 1]; 75% of 4177 rows to fit.",
    "wine": "Quality from eleven measurements, all scaled to [0, 1]; 75% of 1599 rows to fit. 240 rows are exact "
    "copies of others, so that a method can look good by memorising them: the column without copies judges by the "
    "test rows that have no copy in training.",
    "cpus": "The paper prints no numbers of its panel, in minutes on a cluster. The cells that are kept were computed "
    "on one machine of 16 CPUs: those of 16 alone, the others beside each other and beside other work, each held to "
    "CPUs of its own. They have 20 columns and the attention of before, as those of the second simulation.",
}
SECONDS = (
    "Seconds of ours and of the paper's sampler are those of a fit whose programs are compiled, without predictions "
    "and intervals. Seconds of the classical methods (dt, rf, lm, svm_l, svm_r) are those of a fit, without "
    "predictions. Seconds of the other rivals are from the first line of their code to the last: they count the import "
    "of their library, the start of worker processes where a run starts them, the fits and the predictions of all rows."
)
NOT_REPRODUCED = """
## What could not be reproduced, and why

- Running times: the paper's are of other machines. Ratios here are of cells of the same machine and number of threads,
  where they name it; those that do not, of sim4 and some of sim3, are taken to be of one. Mean seconds of a method may
  be of several machines.
- Versions: cells were computed while the library grew, and name its number but no commit. Those of ours on sim1, sim2,
  abalone and wine are older than the rules for hardly any noise in `docs/method.md`, which changed the target by a
  share of 1e-13.
- The figures of the paper have no numbers to compare with; panels here show the same quantities.
- The paper does not name the software of its classical methods. Its errors of dt and rf, in training too, are those of
  R's `randomForest` with one tree and with 500 (a third of the columns, nodes of fewer than five rows are leaves),
  which scikit-learn's forest is set to here; svm_l and svm_r standardise inputs and response as R's `e1071` does.
- The network's errors by epochs are those of one step of Adam per epoch on all rows, which is what nn does here. With
  Keras's default batches of 32 rows (nn, batches of 32) it needs far fewer epochs.
- The number of XGBoost's trees, of the network's hidden units in the fourth study, and how their intervals of the
  response came about are not in the paper.
- The paper's sampler is corrected here where the text is wrong (order of weighing and moving, tempered conditional
  distributions, one range of offsets, swapped equations: see `docs/method.md`), so that its numbers need not agree to
  the last digit.
- Stars in its `tab:sim2` stand for levels that its caption gives in another order; the text leaves p = 150 out, the
  table has it.
- The Gaussian process is left out where its cubic time is not affordable: all studies but wine.
"""


def write_document(
    results: Results,
    verdicts: Sequence[Table],
    tables: Mapping[str, Sequence[Table]],
    figures: Mapping[str, Sequence[str]],
    folder_of_figures: str,
    effort: Effort,
) -> str:
    """Put everything together, in Markdown; figures are names by study, and links to their folder."""
    parts = [TITLE, QUICK if effort.quick else "", INTRODUCTION, "## What should hold\n"]
    parts += [table.as_markdown() for table in verdicts]
    for study in STUDIES.values():
        parts += [f"## {study.name}: {study.title}\n", f"{ABOUT[study.name]}\n", f"    {PROGRAM} {study.name}\n"]
        if not results.data_sets(study.name):
            parts.append(f"{NOT_RUN.capitalize()}.\n")
            continue
        parts += [f"{text}\n" for text in _notes(results, study.name)]
        parts += [table.as_markdown() for table in tables[study.name]]
        for name in figures[study.name]:
            caption = FIGURES[study.name][name].caption
            parts += [f"![{caption}]({folder_of_figures}/{name}.png)\n", f"*{caption}*\n"]
    parts += [_unfinished(results, effort), NOT_REPRODUCED.lstrip("\n")]
    return "\n".join(part for part in parts if part)


def _notes(results: Results, study: str) -> list[str]:
    """What has to be known to read the numbers of a study."""
    notes = [f"{SECONDS} {_machines(results, study)}"] if STUDIES[study].timed else []
    if study == "sim4":
        distances = [distance_from_paper(results, study, "p2m2", rival) for rival in ("xgb", "nn")]
        notes.append(f"The rivals beside the paper's. {' '.join(distances)}")
    return notes


def _machines(results: Results, study: str) -> str:
    """Where the seconds of a study are from."""
    found = [
        f"{machine} ({device}, {n_jobs} {'thread' if n_jobs == 1 else 'threads'}, {number} cells)"
        for (device, machine, n_jobs), number in results.machines(study).items()
    ]
    return f"Machines: {'; '.join(found)}."


def _unfinished(results: Results, effort: Effort) -> str:
    """Which methods have fewer repeats than planned."""
    lines = []
    for study in STUDIES.values():
        planned = Counter((cell.data_set, cell.method) for cell in study.cells(effort))
        for method in study.methods:
            missing: dict[str, list[str]] = {}
            for data_set in [data_set for data_set, name in planned if name == method]:
                done = len(results.values(study.name, data_set, method, "test_rmse"))
                if done < planned[data_set, method]:
                    missing.setdefault(f"{done} of {planned[data_set, method]}", []).append(data_set)
            if missing:
                found = "; ".join(f"{number} on {', '.join(data_sets)}" for number, data_sets in missing.items())
                lines.append(f"- {study.name}, {names.method_name(study.name, method)}: {found}")
    heading = "## Not run, or not as often as planned\n\n"
    return heading + ("\n".join(lines) if lines else "Nothing: every cell is there.") + "\n"
