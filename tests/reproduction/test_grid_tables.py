"""LaTeX that a compiler would take."""

import re

import pytest

from fdch.reproduction.grid import build_grid
from fdch.reproduction.grid_tables import latex_tables
from fdch.reproduction.recipe import choose
from fdch.reproduction.study import Cell


def write(pairs, imagined, **more):
    recipes = choose("table2", [16, 32], ["cmfh", "scm_orth", "fdch"])
    found = imagined(pairs, recipes, **more)
    return latex_tables(build_grid(recipes[0], found))


@pytest.fixture(scope="module")
def plain(pairs, imagined):
    return write(pairs, imagined)


@pytest.fixture(scope="module")
def whole(benchmark_pairs, imagined):
    return write(benchmark_pairs, imagined, failed=[Cell("fdch", 32, 0)])


@pytest.fixture(params=["plain", "whole"])
def text(request):
    return request.getfixturevalue(request.param)


def code_of(text):
    return "\n".join(line for line in text.splitlines() if not line.startswith("%"))


def test_braces_and_environments_are_balanced(text):
    code = re.sub(r"\\[{}]", "", code_of(text))
    assert code.count("{") == code.count("}")
    begun = re.findall(r"\\begin\{(\w+)\}", code)
    ended = re.findall(r"\\end\{(\w+)\}", code)
    assert begun == ["table", "tabular"] * 6
    assert ended == ["tabular", "table"] * 6
    assert len(re.findall(r"(?<!\\)\$", code)) % 2 == 0


def test_every_row_has_as_many_cells_as_the_table(text):
    rows = [line for line in code_of(text).splitlines() if line.endswith(r"\\")]
    for row in rows:
        spans = sum(int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", row))
        assert len(re.findall(r"(?<!\\)&", row)) + 1 + spans == 5, row


def test_special_signs_are_escaped(text):
    code = code_of(text)
    assert r"SCM\_orth" in code
    assert not re.search(r"(?<![\\$^])_", code.replace(r"\_", ""))
    assert not re.search(r"(?<!\\)[%#~]", code)
    assert "→" not in code


def test_the_best_is_bold_once_a_column_and_gallery(plain):
    tables = plain.split(r"\end{table}")
    # both galleries have four columns each; partners are looked for in one of them
    assert [table.count(r"\mathbf") for table in tables] == [8, 8, 8, 8, 4, 0, 0]
    assert re.search(r"\$\\mathbf\{0\.\d{4}\} \\pm 0\.\d{4}\$", plain)


def test_the_captions_count_the_seeds(pairs, imagined, plain):
    assert "precision: mean and standard deviation over 2 seeds, best" in plain
    assert "at equal distance, means over 2 seeds." in plain
    single = write(pairs, imagined, seeds=(3,))
    assert "precision: of the one seed 3, best" in single
    assert "at equal distance, of the one seed 3." in single
    assert "deviation" not in code_of(single)
    assert r"\pm" not in single


def test_the_captions_say_what_was_run(plain, pairs):
    captions = re.findall(r"\\caption\{(.*)\}", plain)
    assert len(captions) == 6
    for caption in captions:
        assert caption.startswith(
            "Table 2 of the paper, run again: "
            rf"CMFH, FDCH and SCM\_orth on {pairs.name} (40 queries, 160 in"
        )
        assert "DCMH" not in caption  # it was not run


def test_published_numbers_are_there_for_the_papers_data_alone(plain, whole):
    assert "0.7762" in whole
    assert "published" in whole
    assert "published" not in plain


def test_failures_are_dashes_with_a_note(whole):
    tables = whole.split(r"\end{table}")
    assert [table.count("--$^{1}$") for table in tables] == [4, 4, 4, 4, 2, 4, 0]
    assert r"$^{1}$ FDCH at 32 bits, seed 0: it takes 99 GB \& more" in whole


def test_ties_have_a_table_of_their_own(plain):
    assert r"\label{tab:table2-ties}" in plain
    assert re.search(r"0\.\d{4}--0\.\d{4}", plain)


def test_chance_stands_in_each_gallery(plain):
    tables = plain.split(r"\end{table}")
    # what random codes have as NDCG is not known
    assert [table.count(r"\emph{chance}") for table in tables] == [2, 2, 2, 0, 1, 0, 0]


def test_each_main_measure_has_its_table(plain):
    labels = re.findall(r"\\label\{tab:([\w-]+)\}", plain)
    assert labels == [
        "table2",
        "table2-precision-at-1",
        "table2-precision-at-10",
        "table2-ndcg-at-10",
        "table2-partner-recall-at-10",
        "table2-ties",
    ]
    assert "NDCG@10: mean and standard deviation over 2 seeds" in plain
