import pytest

from hyperplanes.experiments.reproduction.claims import claims, judge, repeats_table
from hyperplanes.experiments.reproduction.paper import printed
from hyperplanes.experiments.reproduction.results import Key, Results, summarise
from hyperplanes.experiments.reproduction.studies import STUDIES
from kept_cells import keep, results_of


def test_claims_say_yes_no_or_not_run(tmp_path):
    for repeat in (1, 2):
        keep(tmp_path, ("sim1", "p2m2", "ours", repeat), test_rmse=0.10049)
        keep(tmp_path, ("sim1", "p2m2", "paper-L1000-R100", repeat), test_rmse=0.2)
        keep(tmp_path, ("sim4", "p2m2", "ours", repeat), test_rmse=0.1, seconds=2.0)
        keep(tmp_path, ("sim4", "p2m2", "xgb", repeat), test_rmse=0.1, seconds=20.0)
    found = claims(results_of(tmp_path))
    assert [claim.holds for claim in found] == [True, False, None, None, None, None, True, None]
    assert found[0].found == "0.10049 (0.00000) [2]"
    assert found[6].found == "0.1000 (0.0000) [2]"
    assert "0.39377 on training rows and 0.39365 on test rows" in found[5].remark


@pytest.mark.parametrize(("mean", "found", "holds"), [(0.1981, "0.19810", True), (0.21, "0.2100", False)])
def test_a_figure_near_its_bound_has_another_decimal(mean, found, holds):
    claim = judge("small", summarise([mean]), high=0.2)
    assert claim.found.split()[0] == found
    assert claim.holds is holds


@pytest.mark.parametrize(
    ("n_pairs", "worse", "left_out", "found", "holds"),
    [
        (20, (), (), "54 of 54 that have 20 repeats of both", True),
        (
            20,
            (("p5m5", "svm_r"),),
            (),
            "53 of 54 that have 20 repeats of both; not on p5m5 against svm_r (p = 1)",
            False,
        ),
        (20, (), (("p5m5", "lm"),), "53 of 53 that have 20 repeats of both", None),
        (20, (("p5m5", "svm_r"),), (("p5m5", "lm"),), "52 of 53 ", False),
        (19, (), (), "not run", None),
    ],
)
def test_the_claim_on_the_second_study_needs_twenty_pairs_in_every_cell(n_pairs, worse, left_out, found, holds):
    rivals = {(number.data_set, number.metric.removeprefix("p_value_")) for number in printed("sim2")}
    errors = {Key("sim2", data_set, "ours"): 0.1 for data_set, _ in rivals}
    errors |= {Key("sim2", *cell): 0.05 if cell in worse else 0.2 for cell in rivals if cell not in left_out}
    scores = {key: {n: {"test_rmse": mean} for n in range(1, n_pairs + 1)} for key, mean in errors.items()}
    claim = claims(Results(scores, {}))[2]
    assert claim.found.startswith(found)
    assert claim.holds is holds


def test_required_repeats_are_counted_on_every_data_set(tmp_path):
    for repeat in range(1, 21):
        keep(tmp_path, ("sim3", "p2m40", "ours-whole", repeat), test_rmse=0.1)
        keep(tmp_path, ("sim2", "p5m5", "lm", repeat), test_rmse=0.1)
    rows = {tuple(row[:2]): row[2:] for row in repeats_table(results_of(tmp_path)).rows}
    assert rows["sim3", "ours, whole"] == ["20", "20", "yes"]
    assert rows["sim2", "lm"] == ["20", "0 to 20", "**no**"]
    assert rows["sim1", "ours"] == ["100", "0", "not run"]
    assert rows["wine", "Gaussian process"] == ["20", "0", "not run"]
    assert ("abalone", "Gaussian process") not in rows
    assert len([study for study, _ in rows if study == "sim4"]) == len(STUDIES["sim4"].methods)
