"""The distribution of codes in an index: bits, distances and groups, from a sample."""

from collections import Counter
from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans, vq

from fdch.codes import Codes
from fdch.evaluation.health import code_health
from fdch.index.store import CodeStore, Item

SAMPLE = 4_096
LABELLED = 1_024
PAIRS = 50_000
GROUPS = 12
TRIES = 3
POINTS = 600
LABELS_SHOWN = 4
TEXT_SHOWN = 200
COLOURS = 8
NAME_SHOWN = 80
_LISTS = (
    "balance chance distances distances_alike distances_unlike groups points "
    "names labels"
)
_COMMON = 0.3  # of a group's items must have a label for it to mark the group


def overview(store: CodeStore, seed: int = 0) -> dict[str, Any]:
    """Describe the codes of a store by a sample, so that its size does not matter.

    Returns:
        Plain values: `balance`, each bit's share of ones; `distances`, the share of
        random pairs at each distance, `distances_alike` of those that share a label,
        `distances_unlike` of those that do not, and `chance` of fair coins;
        `groups` of near codes, largest first; `points`, the codes on a plane, each
        [x, y, group, label], with their `names` and the `labels` that colour them;
        `distinct` codes among the `sampled`, and how many share the `largest` bucket.
    """
    known: dict[str, Any] = {"items": len(store), "bits": store.bits, "sampled": 0}
    ids, codes = store.sample(SAMPLE, seed)
    if not ids:
        empty: dict[str, Any] = {name: [] for name in _LISTS.split()}
        return known | empty | {"distinct": 0, "largest": 0}
    rng = np.random.default_rng(seed)
    health, bits = code_health(codes), codes.bits
    return {
        **known,
        "sampled": len(codes),
        "balance": [_round((1 + sign) / 2) for sign in health.balance],
        "distinct": health.distinct,
        "largest": health.largest_bucket,
        "chance": [_round(comb(bits, ones) / 2**bits) for ones in range(bits + 1)],
        **_distances(store, ids, codes, rng),
        **_groups(store, ids, codes, rng),
    }


def _distances(
    store: CodeStore, ids: Sequence[str], codes: Codes, rng: np.random.Generator
) -> dict[str, Any]:
    """Count distances of random pairs, and of those with and without a shared label."""
    left, right = rng.integers(len(codes), size=(2, PAIRS))
    left, right = left[left != right], right[left != right]
    found = {"distances": _shares(codes, left, right)}
    few = rng.permutation(len(codes))[:LABELLED]
    labels = _label_matrix(store.items([ids[row] for row in few]))
    alike = unlike = np.zeros(0, dtype=np.int64)
    if labels.any():
        left, right = rng.integers(len(few), size=(2, PAIRS))
        usable = (left != right) & labels[left].any(1) & labels[right].any(1)
        left, right = left[usable], right[usable]
        shares = (labels[left] & labels[right]).any(axis=1)
        alike, unlike = np.flatnonzero(shares), np.flatnonzero(~shares)
    found["distances_alike"] = _shares(codes, few[left[alike]], few[right[alike]])
    found["distances_unlike"] = _shares(codes, few[left[unlike]], few[right[unlike]])
    return found


def _shares(
    codes: Codes, left: NDArray[np.int64], right: NDArray[np.int64]
) -> list[float]:
    if not len(left):
        return []
    words = codes.words()
    apart = np.bitwise_count(words[left] ^ words[right]).sum(axis=1, dtype=np.int64)
    counts = np.bincount(apart, minlength=codes.bits + 1)
    return [_round(share) for share in counts / len(left)]


def _label_matrix(items: Sequence[Item | None]) -> NDArray[np.bool_]:
    names: dict[str, int] = {}
    for item in items:
        for label in item.labels if item else ():
            names.setdefault(label, len(names))
    matrix = np.zeros((len(items), len(names)), dtype=np.bool_)
    for row, item in enumerate(items):
        matrix[row, [names[label] for label in (item.labels if item else ())]] = True
    return matrix


def _groups(
    store: CodeStore, ids: Sequence[str], codes: Codes, rng: np.random.Generator
) -> dict[str, Any]:
    owners, centres = group_codes(codes, GROUPS, rng)
    plane = map_codes(codes)
    shown = np.sort(rng.permutation(len(codes))[:POINTS])
    items = store.items([ids[row] for row in shown])
    labels, colours = colour_items(items)
    return {
        "groups": [
            _group(store, ids, codes, np.flatnonzero(owners == group), centre)
            for group, centre in enumerate(centres)
        ],
        "points": [
            [round(float(x), 3), round(float(y), 3), int(owner), colour]
            for (x, y), owner, colour in zip(
                plane[shown], owners[shown], colours, strict=True
            )
        ],
        "names": [
            _name(ids[row], item) for row, item in zip(shown, items, strict=True)
        ],
        "labels": labels,
    }


def colour_items(items: Sequence[Item | None]) -> tuple[list[str], list[int]]:
    """Choose the labels that colour items, and one of them for each item.

    Returns:
        The most frequent labels; and for each item the place of the rarest of these
        that it has, -1 for none.
    """
    counts = Counter(label for item in items if item for label in item.labels)
    labels = [label for label, _ in counts.most_common(COLOURS)]
    places = {label: place for place, label in enumerate(labels)}
    return labels, [
        max((places.get(label, -1) for label in item.labels), default=-1)
        if item
        else -1
        for item in items
    ]


def _name(id: str, item: Item | None) -> str:
    name = (item and (item.text or ", ".join(item.labels))) or id
    return name if len(name) <= NAME_SHOWN else f"{name[: NAME_SHOWN - 1]}…"


def _group(
    store: CodeStore,
    ids: Sequence[str],
    codes: Codes,
    members: NDArray[np.int64],
    centre: int,
) -> dict[str, Any]:
    """Return the size of a group, the labels that mark it, and an item to show.

    The item has the most of these labels; of several, it is the one nearest to their
    middle.
    """
    rows = [centre, *members[: LABELLED // GROUPS]]
    items = store.items([ids[row] for row in rows])
    looked_at = items[1:]
    counts = Counter(label for item in looked_at if item for label in item.labels)
    labels = [
        label
        for label, count in counts.most_common(LABELS_SHOWN)
        if count >= _COMMON * len(looked_at)
    ]
    marks = [{*labels}.intersection(item.labels if item else ()) for item in items]
    ranks = [(len(own), labels[:1] != [] and labels[0] in own) for own in marks]
    alike = [place for place, rank in enumerate(ranks) if rank == max(ranks)]
    signs = codes[[rows[place] for place in alike]].signs()
    # near the middle of those alike: an item with a wrong label is not
    best = alike[int(np.argmax(signs @ signs.mean(axis=0)))]
    shown = items[best]
    own = [label for label in labels if shown and label in shown.labels]
    return {
        "size": len(members),
        "id": ids[rows[best]],
        "labels": labels,
        "own_labels": own or list(shown.labels[:LABELS_SHOWN] if shown else ()),
        "text": shown.text[:TEXT_SHOWN] if shown and shown.text else None,
        "has_picture": shown is not None and shown.image is not None,
    }


def _round(share: float) -> float:
    return round(float(share), 6)


def group_codes(
    codes: Codes, most: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], list[int]]:
    """Group near codes by k-means.

    Returns:
        Which group each code is in, largest group 0; and the row nearest to the
        middle of each group.
    """
    signs = codes.signs().astype(np.float32)
    middles, _ = kmeans(signs, min(most, len(signs)), iter=TRIES, seed=rng)
    owners, apart = vq(signs, middles)
    sizes = np.bincount(owners, minlength=len(middles))
    order = [group for group in np.argsort(-sizes, kind="stable") if sizes[group]]
    numbers = np.zeros(len(middles), dtype=np.int64)
    numbers[order] = np.arange(len(order))
    centres = [int(np.where(owners == each, apart, np.inf).argmin()) for each in order]
    return numbers[owners], centres


def map_codes(codes: Codes) -> NDArray[np.float32]:
    """Lay codes on the plane along which they differ most, both axes in -1 to 1."""
    signs = codes.signs().astype(np.float32)
    centred = signs - signs.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    plane = centred @ axes[:, ::-1][:, :2]
    if plane.shape[1] < 2:
        plane = np.pad(plane, ((0, 0), (0, 1)))
    plane = plane - (plane.max(axis=0) + plane.min(axis=0)) / 2
    return plane / np.maximum(np.abs(plane).max(axis=0), np.float32(1e-6))
