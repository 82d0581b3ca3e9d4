"""Changes of the index, made by one thread, neighbours in one commit."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fdch.data.pairs import PairedSet
from fdch.data.pictures.images import PictureFiles
from fdch.data.texts import Sentences
from fdch.errors import BrokenPicture, FdchError
from fdch.index.storage.files.layout import write_durably
from fdch.index.store import Item, Kind
from fdch.retrieval.index import Index
from fdch.service.http.messages import ItemRequest
from fdch.service.http.problems import Problem, disk_problem
from fdch.service.index.pictures import ItemPictures

FILE = "unfinished.json"
_log = logging.getLogger("fdch.service")


@dataclass(frozen=True, eq=False)
class Put:
    """An item to write."""

    id: str
    item: ItemRequest
    picture: bytes | None = None

    @property
    def is_encoded(self) -> bool:
        """Whether it has a text or a picture, and so a code."""
        return self.picture is not None or self.item.text is not None


@dataclass(frozen=True)
class Removal:
    """An item to remove."""

    id: str


@dataclass(frozen=True)
class Written:
    """The outcome of a change that is on disk; no kind if it was a removal."""

    existed: bool
    kind: Kind | None = None


Change = Put | Removal


class Unfinished:
    """A record of the pictures that a change touches, on disk until it is made.

    A picture is written before the index knows it, and deleted after the index has
    forgotten it. A service killed in between leaves a file that belongs to no item;
    the next one finds it here. Without a folder of pictures no record is kept.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / FILE

    def begin(self, owners: Mapping[str, str]) -> None:
        """Put a change on record: ids of the items by the names of their pictures."""
        if self._path is not None:
            self._path.parent.mkdir(exist_ok=True)
            write_durably(self._path, json.dumps(owners).encode())

    def owners(self) -> dict[str, str]:
        """Return the pictures and ids of a change that was cut off."""
        if self._path is None or not self._path.exists():
            return {}
        try:
            found = json.loads(self._path.read_bytes())
            return {str(file): str(owner) for file, owner in found.items()}
        except (OSError, ValueError, AttributeError, RecursionError) as problem:
            _log.warning("'%s' cannot be read: %s", self._path, problem)
            return {}

    def end(self) -> None:
        """Drop the record; if a power cut brings it back, that does no harm."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


class Writer:
    """Makes changes; used by one thread at a time."""

    def __init__(
        self, index: Index, pictures: ItemPictures, unfinished: Unfinished
    ) -> None:
        self._index, self._pictures = index, pictures
        self._unfinished = unfinished

    def delete_orphans(self) -> None:
        """Delete uploads that a service left when it was killed during a change."""
        self._delete_unused(self._unfinished.owners())

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
            with self._change([(known.image, name)]):
                return Written(existed=not self._index.remove([name]))
        except (FdchError, OSError) as problem:
            return _translate_os_error(problem)

    def _put(self, puts: list[Put]) -> list[Written | Exception]:
        try:
            return self._put_together(puts)
        except (FdchError, Problem, OSError) as problem:
            if len(puts) == 1:
                return [_for_client(problem, puts[0])]
            # one of them is at fault; the others are written
            return [done for put in puts for done in self._put([put])]

    def _put_together(self, puts: list[Put]) -> list[Written | Exception]:
        before = self._index.store.items([put.id for put in puts])
        known = [item for item in before if item is not None]
        if len(known) == len(puts) and not puts[0].is_encoded:
            described = zip(puts, known, strict=True)
            self._index.update([_item(put, item) for put, item in described])
            return [Written(existed=True, kind=item.kind) for item in known]
        return self._encode(puts, before)

    def _encode(
        self, puts: list[Put], before: Sequence[Item | None]
    ) -> list[Written | Exception]:
        places: list[Path | None] = []
        touched: list[tuple[str | None, str]] = []
        for put, known in zip(puts, before, strict=True):
            place = None
            if put.picture is not None:
                place = self._pictures.place(put.id, put.picture)
                earlier = known.image if known else None
                touched += [(str(place), put.id), (earlier, put.id)]
            places.append(place)
        with self._change(touched):
            for put, place in zip(puts, places, strict=True):
                if put.picture is not None and place is not None:
                    self._pictures.keep(place, put.picture)
            pairs = _pairs(puts, before, PictureFiles(places))
            self._index.add(pairs, merge=False)
        after = self._index.store.items([put.id for put in puts])
        return [
            Written(known is not None, None if now is None else now.kind)
            for known, now in zip(before, after, strict=True)
        ]

    @contextmanager
    def _change(self, touched: list[tuple[str | None, str]]) -> Iterator[None]:
        """Change items; of their pictures keep those that they have in the end.

        Args:
            touched: Pictures that they had or are to have, with their ids.
        """
        owners: dict[str, str] = {}
        for image, owner in touched:
            name = self._pictures.uploaded_name(image)
            if name is not None:
                owners[name] = owner
        if not owners:
            yield
            return
        self._unfinished.begin(owners)
        try:
            yield
        finally:
            self._delete_unused(owners)

    def _delete_unused(self, owners: Mapping[str, str]) -> None:
        ids = list(dict.fromkeys(owners.values()))
        found = zip(ids, self._index.store.items(ids), strict=True)
        images = {owner: item.image for owner, item in found if item is not None}
        for name, owner in owners.items():
            image = images.get(owner)
            if image is None or Path(image).name != name:
                self._pictures.drop(name)
        self._unfinished.end()


def _runs(changes: list[Change]) -> Iterator[list[Change]]:
    """Return neighbours that can be made in one commit.

    Such are items of different ids, if all of them are to be encoded, or none.
    """
    run: list[Change] = []
    for change in changes:
        is_alike = run and _kind(change) == _kind(run[0]) != "removal"
        if run and (not is_alike or any(change.id == each.id for each in run)):
            yield run
            run = []
        run.append(change)
    if run:
        yield run


def _kind(change: Change) -> str:
    if isinstance(change, Removal):
        return "removal"
    return "encoded" if change.is_encoded else "described"


def _item(put: Put, known: Item | None) -> Item:
    """Return the new record: given fields replace, others are kept."""
    given, body = put.item.model_fields_set, put.item
    item = known or Item(put.id)
    if "labels" in given:
        item = replace(item, labels=tuple(dict.fromkeys(body.labels)))
    if "columns" in given:
        columns = {k: cell for k, cell in body.columns.items() if cell is not None}
        item = replace(item, columns=columns)
    return item


def _pairs(
    puts: list[Put], before: Sequence[Item | None], pictures: PictureFiles
) -> PairedSet:
    items = [_item(put, known) for put, known in zip(puts, before, strict=True)]
    labels = dict.fromkeys(label for item in items for label in item.labels)
    columns = dict.fromkeys(column for item in items for column in item.columns)
    return PairedSet.from_arrays(
        pictures,
        Sentences([put.item.text for put in puts]),
        [item.labels for item in items],
        ids=[put.id for put in puts],
        label_names=list(labels),
        columns={name: [item.columns.get(name) for item in items] for name in columns},
    )


def _for_client(problem: Exception, put: Put) -> Exception:
    if isinstance(problem, BrokenPicture) and put.picture is None:
        message = "the picture that the index has for this item cannot be read."
        hint = "Send the picture again together with the text."
        return Problem(409, "picture_missing", message, hint)
    return _translate_os_error(problem)


def _translate_os_error(problem: Exception) -> Exception:
    """Describe an error of the system; our own may be an OSError by kind."""
    if isinstance(problem, OSError) and not isinstance(problem, FdchError):
        return disk_problem(problem)
    return problem
