import csv
import io

from fdch.evaluation.tables import Spread, Table

TABLE = Table(
    ("method", "image → text", "16"),
    (("seph_km", 0.65341, Spread(0.7, 0.0125)), ("fdch", None, Spread(0.8, None))),
    ("chance 0.55",),
)


def test_text_aligns_names_left_and_figures_right():
    assert TABLE.text().splitlines() == [
        "method   image → text               16",
        "seph_km        0.6534  0.7000 ± 0.0125",
        "fdch                -           0.8000",
        "chance 0.55",
    ]


def test_csv_gives_figures_in_full_and_deviations_a_column():
    assert list(csv.reader(io.StringIO(TABLE.csv()))) == [
        ["method", "image → text", "16", "16 std"],
        ["seph_km", "0.65341", "0.7", "0.0125"],
        ["fdch", "", "0.8", ""],
    ]


def test_csv_quotes_what_would_break_a_row():
    table = Table(("a,b",), (('say "x"',),))
    assert list(csv.reader(io.StringIO(table.csv()))) == [["a,b"], ['say "x"']]


def test_latex_is_a_tabular_with_its_notes_as_comments():
    assert TABLE.latex().splitlines() == [
        "% chance 0.55",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"method & image $\to$ text & 16 \\",
        r"\midrule",
        r"seph\_km & 0.6534 & $0.7000 \pm 0.0125$ \\",
        r"fdch & -- & $0.8000$ \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_latex_escapes_what_would_be_a_command():
    table = Table(("name",), ((r"50% of \x{y} & $z$ #1 ~ ^",),))
    assert (
        r"50\% of \textbackslash{}x\{y\} \& \$z\$ \#1 \textasciitilde{} "
        r"\textasciicircum{} \\" in table.latex()
    )


def test_a_notebook_shows_a_table_with_every_cell_escaped():
    table = Table(("method", "mAP"), (("a<b", 0.5),), ("x & y",))
    assert table._repr_html_() == (
        "<table><tr><th>method</th><th>mAP</th></tr>"
        "<tr><td>a&lt;b</td><td>0.5000</td></tr></table><p>x &amp; y</p>"
    )
