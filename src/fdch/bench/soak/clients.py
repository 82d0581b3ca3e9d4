"""Clients that write and search, and know what must come back."""

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fdch.bench.hostile.requests import HOSTILE
from fdch.bench.serving.raw_requests import WRITE, send
from fdch.client.client import Client
from fdch.errors import ServiceError
from fdch.retrieval.results import Results

K = 10
# ids of one client that it puts: text under even numbers, pictures under odd ones
IDS = 1000
# small ones that need none of the items that `fdch bench hostile` has
_HOSTILE = [
    name
    for name, each in HOSTILE.items()
    if len(each.content) < 2**20 and name != "id re-ranked"
]


class Known(NamedTuple):
    """What is known of an item, or could be put as one."""

    code: bytes
    text: str | None = None
    picture: bytes | None = None


@dataclass
class SoakClient:
    """Owns the items whose column "owner" has its name; only it changes them."""

    name: str
    port: int
    own: dict[str, Known]  # items that the service has acknowledged
    texts: list[Known]  # to search with and to put
    pictures: list[Known]
    draw: random.Random  # decides what it does
    seconds: list[float] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._client = Client(f"http://127.0.0.1:{self.port}", WRITE)
        self._where = [f"owner={self.name}"]
        self._acts = {
            "search by text": (self._search_text, 30),
            "search by picture": (self._search_picture, 10),
            "search by item": (self._search_like, 10),
            "count values": (self._count_values, 10),
            "search all": (self._search_all, 10),
            "put": (self._put, 10),
            "remove": (self._remove, 7),
            "read an item": (self._read_item, 8),
            "thumbnail": (self._see_thumbnail, 5),
            "hostile": (self._be_hostile, 5),
        }

    def work(self, gap: float, end: float) -> None:
        """Do something about every so many seconds, until then."""
        chances = [chance for _, chance in self._acts.values()]
        with self._client:
            while (began := time.monotonic()) < end:
                [name] = self.draw.choices(list(self._acts), chances)
                try:
                    self._acts[name][0]()
                    self.done[name] += 1
                except (ServiceError, OSError) as problem:
                    self.failed.append(f"{name}: {problem}"[:300])
                gone = time.monotonic() - began
                if name != "hostile":  # some of those wait
                    self.seconds.append(gone)
                time.sleep(max(0.0, gap * self.draw.uniform(0.5, 1.5) - gone))

    def _search_text(self) -> None:
        query = self.draw.choice(self.texts)
        assert query.text is not None
        where = self._where
        found = self._client.by_text(query.text, k=K, where=where, match="codes")
        self._check(query, found)

    def _search_picture(self) -> None:
        query = self.draw.choice(self.pictures)
        assert query.picture is not None
        self._check(query, self._client.by_image(query.picture, k=K, where=self._where))

    def _search_like(self) -> None:
        name = self._any()
        found = self._client.by_id(name, k=K, where=self._where)
        self._check(self.own[name], found, without=name)

    def _count_values(self) -> None:
        text = str(self.draw.choice(self.texts).text)
        found = self._client.by_text(text, k=1, where=self._where, facets=True)
        counted = found.facets and found.facets.items
        self._require(counted == len(self.own), f"{len(self.own)} items, not {counted}")

    def _search_all(self) -> None:  # by codes and words, while others change theirs
        found = self._client.by_text(str(self.draw.choice(self.texts).text), k=K)
        self._require(len(found.results) == K, f"{len(found.results)} results of all")

    def _put(self) -> None:
        number = self.draw.randrange(IDS)
        name, columns = f"{self.name} put {number}", {"owner": self.name}
        known = self.draw.choice(self.pictures if number % 2 else self.texts)
        new = self._client.put(
            name, text=known.text, image=known.picture, columns=columns
        )
        self._require(new != (name in self.own), f"put of '{name}' says new: {new}")
        self.own[name] = known

    def _remove(self) -> None:
        name = self._any()
        self._require(self._client.remove(name), f"'{name}' was lost")
        del self.own[name]

    def _read_item(self) -> None:
        name = self._any()
        text = self._client.item(name).text
        self._require(text == self.own[name].text, f"'{name}' has the text '{text}'")

    def _see_thumbnail(self) -> None:
        names = [name for name, known in self.own.items() if known.picture]
        if names:
            self._client.thumbnail(self.draw.choice(names))

    def _be_hostile(self) -> None:
        name = self.draw.choice(_HOSTILE)
        content, expected = HOSTILE[name]
        status = send(self.port, content).status
        self._require(status == expected, f"{name}: status {status}, not {expected}")

    def _any(self) -> str:
        return self.draw.choice(list(self.own))

    def _check(self, query: Known, found: Results, without: str = "") -> None:
        """Compare what was found with a search of our own."""
        names = [name for name in self.own if name != without]
        codes = np.frombuffer(b"".join(self.own[each].code for each in names), np.uint8)
        apart = codes.reshape(len(names), -1) ^ np.frombuffer(query.code, np.uint8)
        right = dict(zip(names, np.bitwise_count(apart).sum(1).tolist(), strict=True))
        got = [(each.id, each.distance) for each in found.results]
        nearest = sorted(right.values())[:K]
        self._require(
            [distance for _, distance in got] == nearest
            and all(right.get(name) == distance for name, distance in got),
            f"found {got}; the nearest are at {nearest}",
        )

    def _require(self, is_right: bool, problem: str) -> None:
        if not is_right:
            self.wrong.append(f"{self.name}: {problem}"[:500])
