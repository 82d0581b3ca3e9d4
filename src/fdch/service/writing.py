"""Changes of the index: one thread makes them, those that came together at once."""

from collections.abc import Iterator
from dataclasses import dataclass

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

    def __init__(self, index: Index, pictures: ItemPictures) -> None:
        self._index, self._pictures = index, pictures

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
            if known is None or self._index.remove([name]):
                return Written(existed=False)
        except FdchError as problem:
            return problem
        self._pictures.forget(known.image)
        return Written(existed=True)

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
        paths = [
            None
            if put.picture is None
            else self._pictures.keep(put.id, put.picture).absolute()
            for put in puts
        ]
        try:
            self._index.add(_pairs(puts, PictureFiles(paths)))
        except FdchError:
            for known, path in zip(before, paths, strict=True):
                if path is not None and (known is None or known.image != str(path)):
                    self._pictures.forget(str(path))
            raise
        after = self._index.store.items(names)
        written: list[Written | Exception] = []
        for known, path, now in zip(before, paths, after, strict=True):
            if known is not None and path is not None:
                self._pictures.forget(known.image, but=path)
            written.append(
                Written(known is not None, None if now is None else now.kind)
            )
        return written


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
