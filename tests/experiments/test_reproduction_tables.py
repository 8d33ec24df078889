from hyperplanes.experiments.reproduction.markup import Table
from hyperplanes.experiments.reproduction.tables import all_methods, cpu_table, curve_table, worse_table
from kept_cells import keep, results_of


def test_what_fits_say_of_themselves_is_shown(tmp_path):
    for repeat, messages in enumerate(([], ["The genealogy has collapsed."], None), start=1):
        details = {"n_distinct": 100 * repeat} | ({} if messages is None else {"messages": messages})
        keep(tmp_path, ("sim1", "p2m2", "ours", repeat), details=details, test_rmse=0.1)
    keep(tmp_path, ("sim1", "p2m2", "lm", 1), test_rmse=0.2)
    table = all_methods(results_of(tmp_path), "sim1", "p2m2")
    assert table.header == ["method", "test RMSE", "distinct sets", "fits with a message", "ours better: p"]
    assert [row[2:4] for row in table.rows] == [["200 [3]", "0.50 [2]"], ["", ""]]


def test_where_ours_is_not_the_best_is_listed_by_the_repeats_that_both_have(tmp_path):
    for repeat in (1, 2):
        scores = {"test_rmse": 0.1 * repeat, "fresh_rmse": 0.3, "test_lpd": 1.0, "fresh_crps": 0.2}
        keep(tmp_path, ("wine", "wine", "ours", repeat), **scores)
    keep(tmp_path, ("wine", "wine", "ngboost", 1), test_rmse=0.2, test_lpd=1.5, fresh_crps=0.21)
    keep(tmp_path, ("wine", "wine", "bart", 1), test_rmse=0.2, test_lpd=0.9, fresh_crps=0.16)
    keep(tmp_path, ("wine", "wine", "ours-L100-R100", 2), test_rmse=0.05)
    keep(tmp_path, ("wine", "wine", "rf", 2), test_rmse=0.16, fresh_rmse=0.4)
    keep(tmp_path, ("wine", "wine", "dt", 1), test_rmse=0.11, fresh_rmse=0.24)
    assert worse_table(results_of(tmp_path)).rows == [
        ["wine", "wine", "test RMSE", "rf", "0.1600", "0.2000", "0.0400 (25.0%)", "1", "0.5"],
        ["wine", "wine", "RMSE without copies", "dt", "0.2400", "0.3000", "0.0600 (25.0%)", "1", "0.5"],
        ["wine", "wine", "CRPS without copies", "BART", "0.1600", "0.2000", "0.0400 (25.0%)", "1", "0.5"],
        ["wine", "wine", "log density", "NGBoost", "1.500", "1.000", "0.500", "1", "0.5"],
    ]


def test_curves_of_a_score_are_of_the_methods_that_have_it(tmp_path):
    keep(tmp_path, ("sim2", "p5m5", "ours", 1), test_rmse=0.1, test_lpd=0.9)
    keep(tmp_path, ("sim2", "p5m5", "lm", 1), test_rmse=0.1)
    table = curve_table(results_of(tmp_path), "test_lpd")
    assert table.header == ["|P|", "p", "ours"]
    assert table.rows[0] == ["5", "5", "0.900 (0.000) [1]"]


def test_cpus_are_compared_with_one_of_the_same_machine(tmp_path):
    for number, seconds in ((1, 8.0), (2, 4.0), (16, 1.0)):
        where = {"n_jobs": number, "machine": f"slow, {number} CPUs"}
        keep(tmp_path, ("cpus", f"cpus{number}", "ours", 1), where=where, test_rmse=0.1, seconds=seconds)
    other = {"n_jobs": 4, "machine": "fast, 8 CPUs"}
    keep(tmp_path, ("cpus", "cpus4", "ours", 1), where=other, test_rmse=0.1, seconds=1.0)
    table = cpu_table(results_of(tmp_path))
    assert [row[0] for row in table.rows] == ["1", "2", "4", "16"]
    assert [row[2] for row in table.rows] == ["1.00 (0.00) [1]", "2.00 (0.00) [1]", "not run", "8.00 (0.00) [1]"]


def test_tables_in_markdown_and_latex():
    table = Table("x", "50% & more.", ["|P|", "a_b"], [["1", "`c`"]])
    assert table.as_markdown() == "50% & more.\n\n| \\|P\\| | a_b |\n| --- | --- |\n| 1 | `c` |\n"
    assert r"\caption{50\% \& more.}" in table.as_latex()
    assert "$|$P$|$ & a\\_b \\\\\n\\hline\n1 & c \\\\" in table.as_latex()


def test_latex_has_no_commands_and_bold_that_is_bold():
    found = Table("x", "y", ["holds", "command"], [["**no**", "`hyperplanes`"]]).as_latex()
    assert "holds \\\\\n\\hline\n\\textbf{no} \\\\\n" in found
    assert "hyperplanes" not in found
