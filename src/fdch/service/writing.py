"""Changes of the index: one thread makes them, those that came together at once."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fdch.data.images import PictureFiles
from fdch.data.pairs import PairedSet
from fdch.data.texts import Sentences
from fdch.errors import BrokenPicture, FdchError
from fdch.index.store import Kind
from fdch.indexing import Index
from fdch.service.messages import ItemRequest
from fdch.service.pictures import ItemPictures
from fdch.service.problems import Problem
from fdch.service.unfinished import Unfinished


@dataclass(frozen=True, eq=False)
class Put:
    """An item to write."""

    id: str
    item: ItemRequest
    picture: bytes | None = None


@dataclass(frozen=True)
class Removal:
    """An item to remove."""

    id: str


@dataclass(frozen=True)
class Written:
    """What became of a change, which is on disk.

    Args:
        existed: Whether the item was there before.
        kind: What the item's code was made of; None where it was removed.
    """

    existed: bool
    kind: Kind | None = None


Change = Put | Removal


class Writer:
    """Makes changes; used by one thread at a time."""

    def __init__(
        self, index: Index, pictures: ItemPictures, unfinished: Unfinished
    ) -> None:
        self._index, self._pictures = index, pictures
        self._unfinished = unfinished

    def tidy_up(self) -> None:
        """Delete what a service left over that was killed during a change."""
        self._settle(self._unfinished.owners())

    def work(self, changes: list[Change]) -> list[Written | Exception]:
        """Make changes in their order, neighbours that allow it in one commit."""
        done: list[Written | Exception] = []
        for some in _runs(changes):
            if isinstance(some[0], Removal):
                done.append(self._remove(some[0].id))
            else:
                done += self._put([each for each in some if isinstance(each, Put)])
        return done

    def _remove(self, name: str) -> Written | Exception:
        try:
            [known] = self._index.store.items([name])
            if known is None:
                return Written(existed=False)
            with self._changing([(known.image, name)]):
                return Written(existed=not self._index.remove([name]))
        except FdchError as problem:
            return problem

    def _put(self, puts: list[Put]) -> list[Written | Exception]:
        try:
            return self._put_together(puts)
        except (FdchError, Problem) as problem:
            if len(puts) == 1:
                return [_for_client(problem, puts[0])]
            # one of them is at fault; the others are written
            return [done for put in puts for done in self._put([put])]

    def _put_together(self, puts: list[Put]) -> list[Written | Exception]:
        names = [put.id for put in puts]
        before = self._index.store.items(names)
        places = [
            None if put.picture is None else self._pictures.place(put.id, put.picture)
            for put in puts
        ]
        touched = [
            (image, put.id)
            for put, known, place in zip(puts, before, places, strict=True)
            if place is not None
            for image in (str(place), known.image if known else None)
        ]
        with self._changing(touched):
            for put, place in zip(puts, places, strict=True):
                if put.picture is not None and place is not None:
                    self._pictures.keep(place, put.picture)
            self._index.add(_pairs(puts, PictureFiles(places)))
        after = self._index.store.items(names)
        return [
            Written(known is not None, None if now is None else now.kind)
            for known, now in zip(before, after, strict=True)
        ]

    @contextmanager
    def _changing(self, touched: list[tuple[str | None, str]]) -> Iterator[None]:
        """Change items; of their pictures keep those that they have in the end.

        Args:
            touched: Pictures that they had or are to have, with their ids.
        """
        named = ((self._pictures.own_name(image), owner) for image, owner in touched)
        owners = {name: owner for name, owner in named if name is not None}
        if not owners:
            yield
            return
        self._unfinished.begin(owners)
        try:
            yield
        finally:
            self._settle(owners)

    def _settle(self, owners: Mapping[str, str]) -> None:
        ids = list(dict.fromkeys(owners.values()))
        found = zip(ids, self._index.store.items(ids), strict=True)
        images = {owner: item.image for owner, item in found if item is not None}
        for name, owner in owners.items():
            image = images.get(owner)
            if image is None or Path(image).name != name:
                self._pictures.drop(name)
        self._unfinished.end()


def _runs(changes: list[Change]) -> Iterator[list[Change]]:
    """Give neighbours that can be made in one commit: items of different ids."""
    run: list[Change] = []
    names: set[str] = set()
    for change in changes:
        if run and (isinstance(change, Removal) or change.id in names):
            yield run
            run, names = [], set()
        if isinstance(change, Removal):
            yield [change]
            continue
        run.append(change)
        names.add(change.id)
    if run:
        yield run


def _pairs(puts: list[Put], pictures: PictureFiles) -> PairedSet:
    names = list(dict.fromkeys(label for put in puts for label in put.item.labels))
    labels = np.zeros((len(puts), len(names)), dtype=np.uint8)
    for row, put in enumerate(puts):
        labels[row, [names.index(label) for label in put.item.labels]] = 1
    columns = dict.fromkeys(column for put in puts for column in put.item.columns)
    return PairedSet(
        ids=_objects([put.id for put in puts]),
        images=pictures,
        texts=Sentences([put.item.text for put in puts]),
        labels=labels,
        label_names=tuple(names),
        columns={
            name: _objects([put.item.columns.get(name) for put in puts])
            for name in columns
        },
    )


def _objects(values: list[object]) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _for_client(problem: Exception, put: Put) -> Exception:
    if isinstance(problem, BrokenPicture) and put.picture is None:
        return Problem(
            409,
            "picture_missing",
            "the picture that the index has for this item cannot be read.",
            "Send the picture again together with the text.",
        )
    return problem
