"""Queries are pairs that a run has not learned from, and not their own answers."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import vstack

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import ImageFeatures
from fdch.data.rows import objects
from fdch.data.splits import Split
from fdch.data.texts import WordVectors
from fdch.errors import DamagedRun, DataError, ProtocolMismatch, RunError
from fdch.evaluation.comparing.comparison import comparison
from fdch.files import checksum
from fdch.runs.method_scores import evaluate, evaluate_run
from fdch.runs.pipeline import train_run
from fdch.runs.run import copy_model, open_run
from fdch.runs.run_files import DESCRIPTION, SEEN


def joined(*parts):
    """The pairs of several sets in one, without names."""
    return replace(
        parts[0],
        ids=objects([str(row) for row in range(sum(map(len, parts)))]),
        images=ImageFeatures(np.concatenate([part.images.values for part in parts])),
        texts=WordVectors(vstack([part.texts.matrix for part in parts], "csr")),
        labels=np.concatenate([part.labels for part in parts]),
    )


def learned_images(run, pairs):
    parts = run.split().parts(pairs)
    return images_of(parts.train) | images_of(parts.validation)


def images_of(pairs):
    return {row.tobytes() for row in pairs.images.values}


def change_files(folder, change):
    """Change what a run says of its files."""
    path = folder / DESCRIPTION
    facts = json.loads(path.read_text())
    change(facts["files"])
    path.write_text(json.dumps(facts))


def test_other_data_is_queried_as_it_was_drawn(
    task, trained, tmp_path, factor_pairs, write_features
):
    other = write_features(tmp_path / "other.npz", factor_pairs(100, seed=5))
    found = evaluate_run(trained, other)
    # row numbers of other pairs are no sign of anything
    drawn = Split.draw(PairedSet.read(other))
    assert set(found.query.ids) == set(drawn.query)
    assert found.scores.protocol.split == drawn.fingerprint
    assert not found.query.notes


@pytest.mark.parametrize("first", [True, False])
def test_pairs_seen_in_training_are_not_used_as_queries(
    task, trained, tmp_path, factor_pairs, write_features, first
):
    own, new = PairedSet.read(task.source), factor_pairs(1, seed=5)
    # a row before all others gives each another number
    data = joined(new, own) if first else joined(own, new)
    learned = learned_images(trained, own)
    grown = write_features(tmp_path / "grown.npz", data)
    blind = PairedSet.read(grown)
    blind = blind[Split.draw(blind).rows(blind).query]
    assert learned & images_of(blind)
    found = evaluate_run(trained, grown)
    assert len(found.query) == len(blind) == 24
    assert not learned & images_of(found.query)
    assert "has learned from 120 of the 241 pairs" in found.query.notes[-1]


def test_runs_without_hashes_of_images_go_by_ids(
    task, trained, tmp_path, factor_pairs, write_features
):
    change_files(task.out, lambda files: files.pop(SEEN))
    (task.out / SEEN).unlink()
    grown = joined(PairedSet.read(task.source), factor_pairs(1, seed=5))
    found = evaluate_run(
        open_run(task.out), write_features(tmp_path / "grown.npz", grown)
    )
    own = trained.split()
    assert not {*own.train, *own.validation} & set(found.query.ids)


def test_data_that_was_all_learned_from_is_refused(
    task, trained, tmp_path, write_features
):
    parts = trained.split().parts(PairedSet.read(task.source))
    known = write_features(tmp_path / "known.npz", joined(parts.train))
    with pytest.raises(DataError, match="108 were learned from and cannot be queries"):
        evaluate_run(trained, known)


def test_a_model_without_a_split_cannot_be_queried_with_other_data(
    task, trained, tmp_path, factor_pairs, write_features
):
    other = write_features(tmp_path / "other.npz", factor_pairs(100, seed=5))
    copy_model(trained, tmp_path / "model")
    with pytest.raises(RunError, match="keeps no split"):
        evaluate_run(open_run(tmp_path / "model"), other)


def test_scores_name_what_a_run_was_trained_on(
    task, trained, tmp_path, factor_pairs, write_features
):
    other = write_features(tmp_path / "other.npz", factor_pairs(240, seed=5))
    there = train_run(replace(task, source=other, out=tmp_path / "there"))
    here = evaluate_run(trained, other).scores
    assert here.protocol.trained_on == trained.facts["data"]["fingerprint"]
    own = evaluate_run(there).scores
    assert own.protocol.trained_on == own.protocol.data == here.protocol.data
    assert set(here.protocol.differences(own.protocol)) == {"trained_on"}
    with pytest.raises(ProtocolMismatch, match="trained_on"):
        comparison([here, own])


def test_queries_that_lie_in_the_database_are_refused(task, trained):
    pairs = PairedSet.read(task.source)
    message = "10 of the 40 queries are also in the database, such as '31'"
    with pytest.raises(DataError, match=message):
        evaluate(trained.method, pairs[:40], pairs[30:])


def test_equal_row_numbers_of_other_pairs_are_no_matter(task, trained, factor_pairs):
    pairs = PairedSet.read(task.source)
    others = factor_pairs(40, seed=5)
    others = replace(others, ids=pairs.ids[:40], label_names=pairs.label_names)
    assert evaluate(trained.method, others, pairs).protocol.queries == 40


def test_a_run_keeps_hashes_of_the_images_it_learned_from(task, trained, tmp_path):
    seen = trained.seen_images()
    assert len(seen) == 120
    assert {len(digest) for digest in seen} == {16}
    assert (task.out / SEEN).stat().st_size < 2100
    copied = copy_model(trained, tmp_path / "model")
    assert copied.seen_images() is None
    assert not (tmp_path / "model" / SEEN).exists()


@pytest.mark.parametrize("wrong", [b"", b"nothing", np.zeros(3), np.array([None])])
def test_hashes_that_are_none_are_reported(task, trained, wrong):
    path = task.out / SEEN
    if isinstance(wrong, bytes):
        path.write_bytes(wrong)
    else:
        np.save(path, wrong)
    change_files(task.out, lambda files: files.update({SEEN: checksum(path)}))
    with pytest.raises(DamagedRun, match="does not hold hashes of images"):
        open_run(task.out).seen_images()
