"""Tables of all that was found, whether the paper has it or not."""

from hyperplanes.experiments.reproduction import names
from hyperplanes.experiments.reproduction.markup import NOTHING, Table, digits_of, show, show_p_value, show_score
from hyperplanes.experiments.reproduction.results import Results, signed_rank_p_value, summarise
from hyperplanes.experiments.reproduction.studies import COLUMNS, PLANES, STUDIES

JUDGED = {"test_rmse": 1, "fresh_rmse": 1, "test_crps": 1, "fresh_crps": 1, "test_lpd": -1, "fresh_lpd": -1}
"""Scores that methods are compared by, 1 where smaller is better."""


def all_methods(results: Results, study: str, data_set: str) -> Table:
    """Every method of a data set, with every score that some method has, and whether ours is better."""
    methods, ours = results.methods(study, data_set), STUDIES[study].ours
    known = [metric for metric in names.METRICS if metric != "seconds" or STUDIES[study].timed]
    metrics = [metric for metric in known if any(results.values(study, data_set, name, metric) for name in methods)]
    rows = []
    for method in methods:
        shown = [show_score(results.summary(study, data_set, method, metric), metric) for metric in metrics]
        p_value = results.p_value(study, data_set, ours, method) if method != ours else None
        p_text = NOTHING if p_value is None else show_p_value(p_value)
        rows.append([names.method_name(study, method), *shown, p_text])
    caption = (
        "All methods: mean (standard deviation over repeats) [repeats], and the p-value of Wilcoxon's signed-rank test "
        f"that {names.method_name(study, ours)} has a smaller test RMSE on the repeats that both have. Of fits by ours "
        "and by the paper's sampler also how many distinct sets of hyperplanes they end with, and the share whose "
        "diagnostics have a message, a warning or a note."
    )
    header = ["method", *(names.METRICS[metric] for metric in metrics), "ours better: p"]
    return Table(f"{study}-all-methods", caption, header, rows)


def worse_table(results: Results) -> Table:
    """Methods that have a better score than ours on the repeats that both have."""
    rows = []
    for study in STUDIES:
        for data_set in results.data_sets(study):
            for metric in JUDGED:
                for method in results.methods(study, data_set):
                    if method.partition("-")[0] != "ours" and names.unstopped(method) == method:
                        rows += _worse(results, study, data_set, method, metric)
    caption = (
        "Where ours is not the best: every method, other forms of ours apart, whose mean RMSE, CRPS or log density is "
        "better on the repeats that both have, and the p-value of Wilcoxon's signed-rank test that it is."
    )
    means, found = ["its mean", "ours", "ours is worse by"], ["repeats", "it is better: p"]
    header = ["study", "data set", "score", "method", *means, *found]
    return Table("not-the-best", caption, header, rows)


def _worse(results: Results, study: str, data_set: str, method: str, metric: str) -> list[list[str]]:
    """A row, or none where ours is as good."""
    sign, pairs = JUDGED[metric], results.pairs(study, data_set, STUDIES[study].ours, method, metric)
    ours, theirs = (summarise(values) for values in zip(*pairs, strict=True)) if pairs else (None, None)
    if ours is None or theirs is None or sign * (ours.mean - theirs.mean) <= 0:
        return []
    digits = digits_of(metric)
    means = [f"{summary.mean:.{digits}f}" for summary in (theirs, ours)]
    loss = f"{abs(ours.mean - theirs.mean):.{digits}f}"
    share = f"{loss} ({ours.mean / theirs.mean - 1:.1%})" if sign > 0 else loss
    p_value = signed_rank_p_value((sign * second, sign * first) for first, second in pairs)
    which = names.METRICS[metric], names.method_name(study, method)
    return [[study, data_set, *which, *means, share, str(ours.n), show_p_value(p_value)]]


def curve_table(results: Results, metric: str) -> Table:
    """Means by number of columns and hyperplanes, of all methods that have the score."""
    data_sets = results.data_sets("sim2")
    methods = [
        method
        for method in STUDIES["sim2"].methods
        if any(results.values("sim2", data_set, method, metric) for data_set in data_sets)
    ]
    rows = []
    for m in PLANES:
        for p in COLUMNS:
            summaries = [results.summary("sim2", f"p{p}m{m}", method, metric) for method in methods]
            rows.append([str(m), str(p), *(show(summary, digits_of(metric)) for summary in summaries)])
    header = ["|P|", "p", *(names.method_name("sim2", method) for method in methods)]
    return Table(f"sim2-{metric.replace('_', '-')}", f"Mean {names.METRICS[metric]}.", header, rows)


def cpu_table(results: Results) -> Table:
    """Seconds of a fit by number of CPUs."""
    data_sets = results.data_sets("cpus")
    methods = list(dict.fromkeys(method for name in data_sets for method in results.methods("cpus", name)))
    rows = []
    for name in data_sets:
        cells = [name.removeprefix("cpus")]
        for method in methods:
            cells.append(show(results.summary("cpus", name, method, "seconds"), 2))
            cells.append(show(summarise(results.speed_ups("cpus", name, "cpus1", method).values()), 2))
        rows.append(cells)
    columns = [text for method in methods for text in (f"{names.method_name('cpus', method)}, seconds", "times faster")]
    caption = (
        "Seconds of a warm fit (p = 20, |P| = 5) by the number of CPUs that the process is held to, and how many times "
        "faster than on one."
    )
    return Table("cpus-seconds", caption, ["CPUs", *columns], rows)
