"""What is reported of data, and of what is wrong with it."""

import json
from pathlib import Path


def test_counts_labels_and_chance_are_reported(fdch):
    result = fdch("data", "inspect", "scenes:60")
    assert result.exit_code == 0, result.stderr
    for reported in (
        "pairs              60, 60 fit for training",
        "with an image      60 (pictures)",
        "broken rows        0",
        "chance mAP         0.",
        "labels per pair",
        "frequent words     ",
        "longer side        64 to 64",
    ):
        assert reported in result.stdout
    assert "label          pairs   share" in result.stdout
    assert "objects  number" in result.stdout


def test_json_is_one_document_and_alone(fdch):
    document = json.loads(fdch("data", "inspect", "scenes:60", "--json").stdout)
    assert document["pairs"] == document["trainable"] == document["supervised"] == 60
    assert document["skipped"] == document["notes"] == []
    assert document["chance"]["exact"] is True
    assert 0 < document["chance"]["map"] < 1
    assert sum(document["labels"].values()) > 60
    assert document["words_per_text"]["least"] >= 1


def test_features_are_inspected_too(fdch, on_features):
    shown = fdch("data", "inspect", on_features.data).stdout
    assert "with an image      120 (features of 12 columns)" in shown
    assert "different words    10" in shown
    assert "frequent words" not in shown


def test_identical_pictures_and_texts_are_counted(fdch, photo_rows, manifest, tmp_path):
    rows = [{**photo_rows[i // 2], "id": f"row{i}", "text": "mug"} for i in range(6)]
    data = manifest(tmp_path / "pairs.csv", [*rows, {**photo_rows[9], "id": "last"}])
    shown = fdch("data", "inspect", data).stdout
    assert "identical pictures 6 pairs in 3 groups, the largest of 2" in shown
    assert "identical texts    6 pairs in 1 group, the largest of 6" in shown
    document = json.loads(fdch("data", "inspect", data, "--json").stdout)
    assert document["duplicates"] == {
        "pictures": {"groups": 3, "pairs": 6, "largest": 2},
        "texts": {"groups": 1, "pairs": 6, "largest": 6},
    }
    alone = manifest(tmp_path / "alone.csv", photo_rows[:1])
    assert "identical texts    none" in fdch("data", "inspect", alone).stdout


def test_broken_rows_are_listed_not_refused(fdch, photo_rows, manifest, tmp_path):
    (tmp_path / "torn.png").write_bytes(b"torn")
    broken = [
        {**photo_rows[i], "id": f"torn{i:02}", "image": str(tmp_path / "torn.png")}
        for i in range(11)
    ]
    data = manifest(tmp_path / "pairs.csv", photo_rows[:5] + broken)
    result = fdch("data", "inspect", data)
    assert result.exit_code == 0, result.stderr
    assert "broken rows        11" in result.stdout
    assert "'torn09', line 16: picture" in result.stdout
    assert "torn10" not in result.stdout
    assert "and 1 more; --json lists all" in result.stdout
    listed = json.loads(fdch("data", "inspect", data, "--json").stdout)["skipped"]
    assert [each["row"] for each in listed] == [f"torn{i:02}" for i in range(11)]
    refused = fdch("data", "inspect", data, "--broken", "refuse")
    assert refused.exit_code == 1
    assert "torn00" in refused.stderr


def test_broken_rows_are_shown_by_their_lines(fdch, photo_rows, manifest, tmp_path):
    torn = tmp_path / "torn.png"
    torn.write_bytes(Path(photo_rows[0]["image"]).read_bytes()[:60])
    rows = [*photo_rows[:3], {**photo_rows[3], "image": tmp_path / "gone.png"}]
    rows.append({**photo_rows[4], "image": torn})

    def shown(columns):
        data = manifest(tmp_path / "pairs.csv", rows, columns)
        lines = fdch("data", "inspect", data).stdout.splitlines()
        start = lines.index("broken rows, left out of all counts above:")
        return [line.strip() for line in lines[start + 1 :]]

    missing, broken = shown(("image", "text", "labels"))
    assert missing.startswith(
        f"'{tmp_path / 'pairs.csv'}', line 5: there is no picture"
    )
    assert broken.startswith(f"line 6: picture '{torn}'")
    missing, broken = shown(("id", "image", "text", "labels"))
    assert "', line 5 ('scene3'): there is no picture" in missing
    assert broken.startswith(f"'scene4', line 6: picture '{torn}'")


def test_many_labels_are_cut_short(fdch, photo_rows, manifest, tmp_path):
    rows = [{**row, "labels": f"label{i}"} for i, row in enumerate(photo_rows)]
    shown = fdch("data", "inspect", manifest(tmp_path / "pairs.csv", rows)).stdout
    assert "and 40 more labels" in shown


def test_a_page_of_samples_is_written(fdch, tmp_path):
    page = tmp_path / "samples.html"
    result = fdch("data", "inspect", "scenes:60", "--page", page, "--json")
    assert result.exit_code == 0, result.stderr
    json.loads(result.stdout)
    assert page.read_text("utf-8").count("data:image/jpeg") == 24


def test_notes_of_the_reader_are_passed_on(fdch, photo_rows, manifest, tmp_path):
    columns = ("id", "image", "text")
    data = manifest(tmp_path / "pairs.csv", photo_rows[:5], columns=columns)
    result = fdch("data", "inspect", data)
    assert result.exit_code == 0
    assert "with a label       0 (0 labels)" in result.stdout
    assert "chance mAP" not in result.stdout


def test_a_page_does_not_take_the_place_of_data(fdch, photo_rows, manifest, tmp_path):
    data = manifest(tmp_path / "pairs.csv", photo_rows[:5])
    before = data.read_bytes()
    (tmp_path / "page.html").symlink_to(data)
    for page, reported in (
        (data, "not end in .html"),
        (tmp_path / "page.html", "is read by"),
    ):
        result = fdch("data", "inspect", data, "--page", page)
        assert result.exit_code == 1
        assert reported in result.stderr
    assert data.read_bytes() == before


def test_a_type_of_a_column_is_tried_before_indexing(fdch, tmp_path):
    data = tmp_path / "sizes.csv"
    data.write_text('id,text,size\na,mug,"36,38"\nb,cup,"40,42"\nc,pot,44')
    read = ("data", "inspect", data, "--json", "--type")
    size = json.loads(fdch(*read, "size=text").stdout)["columns"]["size"]
    assert (size["type"], size["examples"][0]) == ("text", "36,38")
    size = json.loads(fdch(*read, "size=date").stdout)["columns"]["size"]
    assert (size["type"], len(size["misfits"])) == ("date", 3)
    wrong = fdch(*read, "sise=text")
    assert wrong.exit_code == 1 and "did you mean 'size'?" in wrong.stderr
