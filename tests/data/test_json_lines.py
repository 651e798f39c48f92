"""JSON lines: logs whose lines are objects."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from calibstat.data.sample import Sample
from calibstat.ledgers.ledger import Ledger

ROWS = [
    {"question_id": f"q{k // 2}", "repeat": k % 2, "result": {"confidence": level, "correct": right}}
    for k, (level, right) in enumerate([(0.9, True), (0.75, False), (0.5, True), (0.6, True)])
]
ASKED = {"correct": "result.correct", "confidence": "result.confidence", "groups": "question_id"}
LINES = '{"right": true, "said": 0.5}\n{"right": false, "said": 0.75}\n'


def text_of(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def written(folder, text, name="log.jsonl"):
    path = folder / name
    path.write_text(text)
    return path


def read(folder, text, **asked):
    return Sample.read(written(folder, text), **({"correct": "right", "confidence": "said"} | asked))


@pytest.mark.parametrize("name", ["log.jsonl", "log.ndjson", "LOG.JSONL", "log.jsonl.gz"])
def test_a_log_is_read_by_the_names_of_its_fields(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text_of(ROWS).encode()) if name.endswith(".gz") else text_of(ROWS).encode())
    sample = Sample.read(path, **ASKED)
    known = Sample.from_confidence([True, False, True, True], [0.9, 0.75, 0.5, 0.6], groups=["q0", "q0", "q1", "q1"])
    assert np.array_equal(sample.y_prob, known.y_prob)
    assert np.array_equal(sample.outcomes, known.outcomes)
    assert np.array_equal(sample.groups.codes, known.groups.codes)
    assert repr(sample) == "Sample(n=4, classes=(False, True), in 2 clusters (question_id), seen through the top label)"


def test_a_sample_can_be_read_again_from_its_origin(tmp_path):
    sample = Sample.read(written(tmp_path, text_of(ROWS)), **ASKED)
    assert np.array_equal(Sample.read(**sample.origin).y_prob, sample.y_prob)


def test_a_mark_of_bytes_blank_lines_and_a_last_line_without_an_end_do_not_matter(tmp_path):
    assert read(tmp_path, "\ufeff" + LINES.replace("\n", "\n\n").rstrip()).outcomes.tolist() == [1, 0]


def test_fields_need_not_be_in_each_line(tmp_path):
    text = LINES + '{"right": true}\n{"right": null, "said": 0.2}\n'
    assert len(read(tmp_path, text, nan_policy="omit")) == 2
    with pytest.raises(ValueError, match=r"values are missing \(y_true: 1, y_prob: 1\)"):
        read(tmp_path, text)


def test_a_field_of_something_that_has_none_is_missing(tmp_path):
    rows = [*ROWS, {"question_id": "q2", "result": "timeout"}]
    assert len(Sample.read(written(tmp_path, text_of(rows)), **ASKED, nan_policy="omit")) == 4


def test_columns_are_the_fields_of_the_first_thousand_lines(tmp_path):
    late = '{"right": true, "said": 0.5, "late": 1}\n'
    assert len(read(tmp_path, LINES * 499 + late, variables="late", nan_policy="omit")) == 1
    with pytest.raises(ValueError, match=r"no column 'late' .*; the columns are 'right', 'said'"):
        read(tmp_path, LINES * 500 + late, variables="late")


def test_all_probabilities_may_be_in_a_list(tmp_path):
    rows = [{"y": "b", "p": [0.25, 0.75]}, {"y": "a", "p": [0.5, 0.5]}]
    sample = Sample.read(written(tmp_path, text_of(rows)), y_true="y", y_prob="p")
    assert sample.y_prob.tolist() == [[0.25, 0.75], [0.5, 0.5]]


def test_numbers_in_quotation_marks_are_probabilities_and_labels_stay_text(tmp_path):
    rows = [{"y": "1", "p": "0.25"}, {"y": "NA", "p": 0.5}]
    sample = Sample.read(written(tmp_path, text_of(rows)), y_true="y", y_prob="p")
    assert (sample.labels, sample.y_prob[:, 1].tolist()) == (("1", "NA"), [0.25, 0.5])


@pytest.mark.parametrize(
    ("right", "wrong"), [("true", "false"), ("1", "0"), ('"correct"', '"incorrect"'), ('" Right"', '"wrong"')]
)
def test_whether_a_label_was_right_is_written_in_several_ways(tmp_path, right, wrong):
    assert read(tmp_path, LINES.replace("true", right).replace("false", wrong)).outcomes.tolist() == [1, 0]


def test_words_of_truth_may_be_missing(tmp_path):
    text = LINES.replace("true", '"correct"').replace("false", "null") + '{"right": "incorrect", "said": 0.2}\n'
    assert read(tmp_path, text, nan_policy="omit").outcomes.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LINES + '{"right": true, "said": 0.\n' + LINES, r"log\.jsonl: line 3 is damaged .*must hold one JSON object$"),
        (LINES + "\n" + '{"right": true, "sa', r"line 4 is damaged .*the last line may have been cut off"),
        ('{"right": tr, "said": 0.5}\n', r"damaged \(Expecting value at character 11\)"),
        ('{"right": "yes', r"damaged \(Unterminated string starting at character 11\)"),
        (LINES + "[" * 100_000 + "\n", "line 3 is damaged"),
        ("[1, 2]\n", "line 1 holds a list, but each line must hold one JSON object"),
        (LINES + "null\n", r"line 3 holds nothing \(null\)"),
        (LINES + "3\n", "line 3 holds a number"),
        ("", "it is empty; each line must hold one JSON object"),
        ('{"right": true, "said": 0.5, "a.b": 1, "a": {"b": 2}}\n', "two fields are called 'a.b'"),
        (LINES.replace("0.75", '"85%"'), r"'85%' in row 1 .*pass shares, 0.15 and not 15 %"),
        (LINES.replace("0.75", "85"), "divide by 100"),
        (LINES.replace("true", '"perhaps"'), "correct holds"),
        (LINES.replace("0.75", "[0.5]"), "column 'said' cannot be read as an array"),
        (LINES.replace("0.75", '{"value": 0.5}'), "column 'said' holds a mixture of types"),
    ],
)
def test_damaged_lines_and_fields_are_one_error(tmp_path, text, words):
    with pytest.raises(ValueError, match=words):
        read(tmp_path, text)


def test_lines_without_an_end_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("calibstat.data.json_lines.LONGEST", 20)
    with pytest.raises(ValueError, match="line 1 is longer than"):
        read(tmp_path, LINES)


def test_text_that_is_none(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"right": true, "said": "\xff"}\n')
    with pytest.raises(ValueError, match="it is not text in UTF-8"):
        Sample.read(path, correct="right", confidence="said")


def test_json_under_another_name_is_told(tmp_path):
    path = written(tmp_path, LINES, "log.csv")
    with pytest.raises(ValueError, match=r"its first line is JSON .*end in \.jsonl"):
        Sample.read(path, correct="right", confidence="said")


def test_a_ledger_says_what_reads_json_lines(tmp_path):
    with pytest.raises(ValueError, match=r"of JSON lines, which are not counted in parts: read it by Sample\.read"):
        Ledger.collect(written(tmp_path, LINES, "log.jsonl"), y_true="right", y_prob="said")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"y_prob": "said"}, "name both, without y_true= and y_prob="),
        ({"y_true": "right"}, "name both, without"),
        ({"confidence": None}, "name both, without"),
        ({"confidence": None, "correct": None, "y_true": "right"}, "y_prob= names no column"),
        ({"correct": None}, "name both, without"),
        ({"labels": [0, 1]}, "labels is about the classes of y_prob"),
        ({"prevalence": 0.2}, "prevalence is about the classes of y_prob"),
    ],
)
def test_columns_of_confidences_stand_by_themselves(tmp_path, asked, words):
    with pytest.raises((TypeError, ValueError), match=words):
        read(tmp_path, LINES, **asked)


def test_confidences_of_a_frame():
    frame = {"right": ["correct", "incorrect"], "said": [0.5, 0.75]}
    sample = Sample.from_frame(frame, correct="right", confidence="said")
    assert (sample.predictions.seen, sample.outcomes.tolist()) == ("the top label", [1, 0])


def test_commands_read_logs(tmp_path, capsys):
    from calibstat.cli.main import main

    path = written(tmp_path, text_of(ROWS * 10))
    columns = ["--label", "result.correct", "--confidence", "result.confidence"]
    assert main(["test", str(path), *columns, "--n-resamples", "99"]) == 0
    assert "(n = 40, p = " in capsys.readouterr().out


def test_calibrated_rows_of_a_log_keep_its_other_fields(tmp_path, capsys):
    from calibstat.cli.main import main

    rows = [row | {"tags": ["x"] * (k % 3)} for k, row in enumerate(ROWS * 20)]
    out = tmp_path / "out.csv"
    columns = ["--label", "result.correct", "--probs", "result.confidence"]
    assert (
        main(["calibrate", str(written(tmp_path, text_of(rows))), *columns, "--calibrator", "platt", "--out", str(out)])
        == 0
    )
    capsys.readouterr()
    assert out.read_text().startswith("row,result.correct,prob_False,prob_True,question_id,repeat,tags\n")
