"""Every reader of bytes from outside, as a function that reads or refuses them.

A harness passes if it gives a result or raises the package's own error, with a
message of bounded length. Anything else is a finding.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.fuzz import samples

from fdch.errors import FdchError

MAX_MESSAGE = 10_000
_KEPT = TemporaryDirectory(prefix="fdch-fuzz-")  # gone with the process


@dataclass(frozen=True)
class Reader:
    """How to make whole samples, and how to read bytes like them."""

    samples: Callable[[], list[bytes]]
    read: Callable[[bytes], object]
    package: str = "numpy"  # without it there is nothing to test

    @property
    def is_there(self) -> bool:
        """Whether what it needs is installed."""
        return find_spec(self.package) is not None


def check(name: str, content: bytes) -> bool:
    """Read bytes; give whether they were refused. Other errors pass through."""
    try:
        READERS[name].read(content)
    except FdchError as error:
        return _require_short(str(error))
    except Exception as error:
        if type(error).__name__ != "Problem":  # what the service answers with
            raise
        return _require_short(str(error))
    return False


def _require_short(message: str) -> bool:
    if not 0 < len(message) <= MAX_MESSAGE:
        raise AssertionError(f"a message of {len(message):,} letters: {message[:300]}")
    return True


@cache
def folder() -> Path:
    """Where the files are written, in memory if possible."""
    return Path(_KEPT.name)


def write(name: str, content: bytes) -> Path:
    """Write a file to be read."""
    path = folder() / name
    path.write_bytes(content)
    return path


def read_data(ending: str, content: bytes) -> None:
    """Read pairs and all that they hold, as commands do."""
    from fdch.data.pairs import PairedSet
    from fdch.data.pictures.images import Pictures

    pairs = PairedSet.read(write(f"pairs{ending}", content), broken="skip")
    for row in range(min(len(pairs), 5)):
        pairs.labels_of(row)
        pairs.texts.text(row)
        if isinstance(pairs.images, Pictures) and pairs.images.present[row]:
            pairs.images.decode(row, 4)
    for values in pairs.columns.values():
        json.dumps(values.tolist())
    assert pairs.fingerprint
    assert repr(pairs)


def read_mat(content: bytes) -> None:
    """Read a MATLAB file as DCMH's, and as a published network."""
    from fdch.data.readers import dcmh_mat
    from fdch.networks.backbones.matconvnet import read_network

    path = write("a.mat", content)
    with suppress(FdchError):
        read_network(path)
    dcmh_mat.read(str(path))


def read_hdf5(content: bytes) -> None:
    """Read an HDF5 file as DCMH's."""
    from fdch.data.readers import dcmh_mat

    dcmh_mat.read(str(write("b.mat", content)))


def read_member(whole: Callable[[], list[bytes]], name: str, content: bytes) -> None:
    """Read a zip file in which one member is these bytes, with their checksum."""
    ending = ".xlsx" if name.endswith(".xml") else ".npz"
    read_data(ending, samples.replace_member(_first(whole), name, content))


@cache
def _first(whole: Callable[[], list[bytes]]) -> bytes:
    return whole()[0]


def read_codes(content: bytes) -> None:
    """Read a file of codes."""
    from fdch.runs.code_files import holds_codes, read_encoded

    path = write("codes.npz", content)
    holds_codes(path)
    read_encoded(path)


def read_picture(content: bytes) -> None:
    """Decode a picture, and make it smaller as the service does."""
    from fdch.data.pictures.decoding import PictureLimits, decode, shrink

    with suppress(FdchError):  # AVIF is refused here
        shrink(content, 8, PictureLimits(quick=True))
    decode(content, 8)


def read_split(content: bytes) -> None:
    """Read a split."""
    from fdch.data.splits import Split

    Split.read(write("split.json", content))


def read_run(content: bytes) -> None:
    """Read the description of a run, with a calibration that has the same bytes."""
    from fdch.runs.run_files import read_description, read_facts

    inside = folder() / "run"
    inside.mkdir(exist_ok=True)
    for name in ("run.json", "calibration.json", "state.safetensors"):
        (inside / name).write_bytes(content)
    read_description(inside)
    read_facts(inside)


@cache
def whole_run(name: str) -> Path:
    """A tiny run of a method, whose files are replaced."""
    from tests.fuzz import tiny_runs

    tiny_runs.make_run(folder() / f"run of {name}", name)
    return folder() / f"run of {name}"


def states() -> list[bytes]:
    """What some methods have learned, each after the number of the method."""
    from fdch.runs.run_files import STATE

    runs = enumerate(map(whole_run, METHODS))
    return [bytes([number]) + (run / STATE).read_bytes() for number, run in runs]


def read_state(content: bytes) -> None:
    """Open a run with this state, whose checksum holds, and encode with it."""
    from tests.fuzz import tiny_runs

    from fdch.runs.run_files import STATE

    run = whole_run(METHODS[content[0] % len(METHODS) if content else 0])
    tiny_runs.replace_file(run, STATE, content[1:])
    tiny_runs.use_run(run)


def seen_hashes() -> list[bytes]:
    """Hashes of images, as a run keeps them."""
    from fdch.runs.run_files import SEEN

    return [(whole_run("cmfh") / SEEN).read_bytes()]


def read_seen(content: bytes) -> None:
    """Open a run with these hashes of images, whose checksum holds."""
    from tests.fuzz import tiny_runs

    from fdch.runs.run import open_run
    from fdch.runs.run_files import SEEN

    tiny_runs.replace_file(whole_run("cmfh"), SEEN, content)
    open_run(whole_run("cmfh")).seen_images()


@cache
def whole_export() -> tuple[Path, bytes]:
    """A tiny export, and its manifest; of a run whose files nothing replaces."""
    from tests.fuzz import tiny_runs

    from fdch.export.model import MANIFEST
    from fdch.export.onnx_files import export_run
    from fdch.runs.run import open_run

    tiny_runs.make_run(folder() / "exported run", "cmfh")
    export_run(open_run(folder() / "exported run"), folder() / "export")
    return folder() / "export", (folder() / "export" / MANIFEST).read_bytes()


def read_export(content: bytes) -> None:
    """Open an export with this manifest, and encode with it."""
    from tests.fuzz.tiny_runs import tiny_pairs

    from fdch.export.model import MANIFEST, ExportedModel

    path, pairs = whole_export()[0], tiny_pairs(3)
    (path / MANIFEST).write_bytes(content)
    opened = ExportedModel.open(path)
    opened.encode_images(pairs.images)
    opened.encode_texts(pairs.texts)


def read_scores(content: bytes) -> None:
    """Read scores and show them."""
    from fdch.evaluation.score_files import read_scores as read

    found = read(write("scores.json", content))
    assert str(found) and repr(found)


@cache
def scored() -> Path:
    """A folder with scores."""
    from fdch.evaluation.score_files import save_scores

    inside = folder() / "scored"
    inside.mkdir()
    save_scores(inside, samples.make_scores())
    return inside


def read_queries(content: bytes) -> None:
    """Read these scores of single queries beside their means."""
    from fdch.evaluation.score_files import QUERIES, SCORES, with_queries
    from fdch.evaluation.score_files import read_scores as read

    (scored() / QUERIES).write_bytes(content)
    with_queries(read(scored() / SCORES), scored())


@cache
def canned_client() -> tuple[Any, list[bytes]]:
    """A client, and what it is answered."""
    import httpx

    from fdch import Client

    def answer(_: object) -> Any:
        return httpx.Response(200 if len(answers[0]) % 4 else 400, content=answers[0])

    client, answers = Client("http://127.0.0.1"), [b""]
    transport = httpx.MockTransport(answer)
    client._http = httpx.Client(base_url=client.url, transport=transport)
    return client, answers


def read_reply(content: bytes) -> None:
    """Take these bytes for the answer to every kind of request."""
    client, answers = canned_client()
    answers[0] = content
    for ask in (
        lambda: str(client.by_text("a dog", k=3)),
        lambda: client.by_texts(["a dog", "a cat"]),
        lambda: client.encode_texts(["a dog"]),
        lambda: client.item("a"),
        lambda: client.put("a"),
        lambda: client.index(),
        lambda: client.is_ready(),
    ):
        try:
            ask()
        except FdchError as error:
            _require_short(str(error))


def read_calibration(content: bytes) -> None:
    """Read a calibration."""
    from fdch.evaluation.calibration.model import Calibration
    from fdch.files import load_json

    try:
        document = load_json(write("calibration.json", content), 2**20)
    except ValueError:  # its caller translates this one
        return
    Calibration.from_json(document)


def read_settings(content: bytes) -> None:
    """Read settings that tuning wrote."""
    from fdch.tuning.settings_file import SettingsFile

    SettingsFile.read(write("settings.toml", content)).as_text()


def read_dataset(content: bytes) -> None:
    """Read the list of files of a saved dataset."""
    from fdch.data.readers.tables.arrow import STATE, list_dataset_files

    inside = folder() / "dataset"
    inside.mkdir(exist_ok=True)
    (inside / STATE).write_bytes(content)
    list_dataset_files(inside)


def read_tags(content: bytes) -> None:
    """Read a table of 0 and 1, as NUS-WIDE has them, and a list of names."""
    from fdch.data.readers.downloads import read_lines
    from fdch.data.readers.nuswide import read_bits

    path = write("tags.txt", content)
    read_lines(path)
    read_bits(path, 3, 2)


@cache
def index_folder() -> tuple[Path, bytes]:
    """An index whose log is replaced, and the log that it had."""
    from fdch.index.storage.files.layout import LOG

    inside = folder() / "index"
    samples.make_index(inside)
    return inside, (inside / LOG).read_bytes()


def open_index(path: Path) -> None:
    """Read all of an index, after its catalogue was made again from its log."""
    from fdch.codes import Codes
    from fdch.index.storage.catalogue.recovery import rebuild_catalogue
    from fdch.index.storage.files.layout import translate_os_errors
    from fdch.index.storage.folder import CodeFolder
    from fdch.index.store import Condition

    with translate_os_errors(path):  # as its callers do
        rebuild_catalogue(path)
    with CodeFolder.open(path) as opened:
        codes = opened.fetch(["1"]).codes if opened.items(["1"])[0] else None
        if isinstance(codes, Codes):
            opened.search(codes, 3, where=[Condition("price", "<", ("2",))])
        opened.describe()
        opened.contents()


def read_log(content: bytes) -> None:
    """Open an index with these bytes as its log."""
    from fdch.index.storage.files.layout import LOG

    path, _ = index_folder()
    (path / LOG).write_bytes(content)
    open_index(path)


def log_records() -> list[bytes]:
    """The payloads of a log, each after the number of its record."""
    from fdch.index.storage.files.layout import LOG
    from fdch.index.storage.files.log import read_header, read_records

    path, whole = index_folder()
    (path / LOG).write_bytes(whole)
    header = read_header(path)
    records = read_records(path, header.uid, header.start)
    return [bytes([n]) + record.entry.payload for n, record in enumerate(records)]


def read_record(content: bytes) -> None:
    """Open an index with these bytes in one record of its log, whose checks hold."""
    from fdch.index.storage.files.layout import LOG
    from fdch.index.storage.files.log import encode_records, read_header, read_records

    path, whole = index_folder()
    (path / LOG).write_bytes(whole)
    header = read_header(path)
    entries = [r.entry for r in read_records(path, header.uid, header.start)]
    chosen = content[0] % len(entries) if content else 0
    entries[chosen] = entries[chosen]._replace(payload=content[1:])
    records, _, _ = encode_records(header.uid, header.start, entries)
    (path / LOG).write_bytes(header.pack() + records)
    open_index(path)


def read_body(content: bytes) -> None:
    """Read the body of a request as every shape that the service knows."""
    from fdch.service.http.messages import EncodeRequest, ItemRequest, SearchRequest
    from fdch.service.http.problems import Problem
    from fdch.service.http.uploads import parse_json

    for shape in (EncodeRequest, ItemRequest, SearchRequest):
        try:
            found = parse_json(shape, content)
            if isinstance(found, SearchRequest):
                assert found.params.conditions is not None
        except Problem as problem:
            assert problem.response().status_code in (400, 422)
        except FdchError:
            pass


def read_form(content: bytes) -> None:
    """Take a form apart."""
    from fdch.service.http.uploads import read_parts

    try:
        read_parts(content, "multipart/form-data; boundary=xyz")
    except ValueError as error:  # its caller translates this one
        _require_short(str(error))


def read_condition(content: bytes) -> None:
    """Read a condition, and write it so that it is read again."""
    from fdch.index.conditions import parse_condition, write_condition

    found = parse_condition(content.decode("utf-8", "surrogateescape"))
    assert parse_condition(write_condition(found)) == found


def read_words(content: bytes) -> None:
    """Cut a query into words and look them up."""
    from fdch.data.texts import Sentences, Vocabulary
    from fdch.data.word_forms import hint_words

    text = content.decode("utf-8", "surrogatepass" if len(content) % 2 else "replace")
    known = Vocabulary.fit(Sentences(["a red dog", "a dog", "猫狗 猫狗"]))
    known.number_words(text)
    known.unknown(text)
    hint_words(known, text)
    known.vectors(Sentences([text]))


def _words(content: bytes) -> None:
    try:
        read_words(content)
    except UnicodeDecodeError:
        return


def _json(*documents: object) -> list[bytes]:
    return [json.dumps(document).encode() for document in documents]


# maps, kernels, centroids, sparse codes; networks with what orders candidates
METHODS = ("cmfh", "seph_km", "lcmh", "lssh", "fdch_plus")
RUN = {
    "format": 1,
    "method": "fdch",
    "settings": {"bits": 16, "image_weights": ""},
    "files": {"state.safetensors": {"bytes": 1, "blake2b": "00"}},
    "fingerprint": "abc",
    "versions": {"fdch": "0.1"},
    "packages": {"numpy": "2.0"},
}
SETTINGS = (
    b'format = 1\nversion = "0.1"\nmethod = "dcmh"\nbits = 16\nseed = 0\n'
    b'remark = "x"\n[settings]\nlearning_rate = 0.1\n[data]\nname = "a"\n'
)
SEARCH = {"text": "a dog", "k": 5, "where": ["price<3", 'label in "a",b']}
ITEM = {"text": "a dog", "labels": ["dog"], "columns": {"price": 3, "x": None}}
FORM = (
    b'--xyz\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n'
    b"Content-Type: image/png\r\n\r\n\x89PNG\r\n--xyz\r\nContent-Disposition: "
    b'form-data; name="k"\r\n\r\n5\r\n--xyz--\r\n'
)
STATE = {"_data_files": [{"filename": "a.arrow"}], "_indices_data_files": None}
CONDITIONS = [
    b"price<=20",
    b"label in dog, cat",
    b'"born in year" = " 1900 "',
    b'a in ["b"]',
]
WORDS = [b"a red dog", "猫狗 ÄPFEL".encode(), b"\xed\xa0\x80 x", b"1,000 don't"]
HIT: dict[str, Any] = {
    "id": "a",
    "text": "a dog",
    "image": None,
    "labels": ["dog"],
    "columns": {"x": 1},
    "kind": "text",
    "distance": 3,
    "probability": 0.5,
    "similar": ["b"],
    "matched": [{"word": "dog", "start": 2, "end": 5}],
}
FOUND: dict[str, Any] = {
    "query": {"text": "a"},
    "results": [HIT],
    "scanned": 3,
    "milliseconds": 1.5,
}
FACETS = {"items": 1, "columns": {"x": [{"value": 1, "count": 1}]}, "uncounted": {}}
REPLIES: list[dict[str, Any]] = [
    FOUND | {"notes": ["odd"], "facets": FACETS},
    {"batches": [FOUND, FOUND]},
    {"codes": ["00ff"], "bits": 16, "model": "x"},
    HIT,
    {"created": True},
    {"items": 3, "bits": 16, "model": "x", "method": "dch", "can_write": False},
    {"status": "ready"},
    {"error": {"code": "bad", "message": "no.", "hint": "Ask again."}},
]
SHEET = "xl/worksheets/sheet1.xml"


def _member_samples(whole: Callable[[], list[bytes]], name: str) -> list[bytes]:
    return [samples.members(_first(whole), name)]


def _member(
    whole: Callable[[], list[bytes]], name: str, package: str = "numpy"
) -> Reader:
    return Reader(
        partial(_member_samples, whole, name),
        partial(read_member, whole, name),
        package,
    )


def _queries() -> list[bytes]:
    from fdch.evaluation.score_files import QUERIES

    return [(scored() / QUERIES).read_bytes()]


def _calibration() -> list[bytes]:
    from fdch.evaluation.calibration.model import FACTS, WEIGHTS

    model: dict[str, Any] = {
        "mean": [0.0] * len(FACTS),
        "scale": [1.0] * len(FACTS),
        "weights": [-0.5] * len(WEIGHTS),
    }
    models = {"image": {"text": {"distance": model}}}
    return _json({"bits": 16, "pairs": 5, "trained": 9, "models": models})


READERS = {
    "csv": Reader(samples.tables, partial(read_data, ".csv")),
    "tsv": Reader(samples.tables, partial(read_data, ".tsv")),
    "jsonl": Reader(samples.json_lines, partial(read_data, ".jsonl")),
    "xlsx": Reader(samples.workbooks, partial(read_data, ".xlsx"), "openpyxl"),
    "xlsx-sheet": _member(samples.workbooks, SHEET, "openpyxl"),
    "xlsx-styles": _member(samples.workbooks, "xl/styles.xml", "openpyxl"),
    "npz": Reader(samples.features, partial(read_data, ".npz")),
    "npz-array": _member(samples.features, "image.npy"),
    "npz-ids": _member(samples.features, "ids.npy"),
    "matlab5": Reader(samples.matlab, read_mat),
    "hdf5": Reader(samples.hdf5, read_hdf5, "h5py"),
    "parquet": Reader(samples.parquets, partial(read_data, ".parquet"), "pyarrow"),
    "arrow": Reader(samples.arrows, partial(read_data, ".arrow"), "pyarrow"),
    "tar": Reader(samples.shards, partial(read_data, ".tar")),
    **{
        form.lower(): Reader(partial(samples.pictures, form), read_picture)
        for form in ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
    },
    "avif": Reader(partial(samples.pictures, "AVIF"), read_picture, "PIL._avif"),
    "heif": Reader(partial(samples.pictures, "HEIF"), read_picture, "pillow_heif"),
    "split": Reader(samples.splits, read_split),
    "run": Reader(lambda: _json(RUN), read_run),
    "state": Reader(states, read_state, "torch"),
    "seen": Reader(seen_hashes, read_seen, "torch"),
    "export": Reader(lambda: [whole_export()[1]], read_export, "onnxruntime"),
    "scores": Reader(lambda: _json(samples.make_scores().to_json()), read_scores),
    "queries": Reader(_queries, read_queries),
    "reply": Reader(
        lambda: [json.dumps(each).encode() for each in REPLIES], read_reply, "httpx"
    ),
    "calibration": Reader(_calibration, read_calibration),
    "settings": Reader(lambda: [SETTINGS], read_settings, "torch"),
    "dataset": Reader(lambda: _json(STATE), read_dataset),
    "tags": Reader(lambda: [b"a 0 1 1\nb 1 0 0\n", b"0\t1 1\n\n1 0 0"], read_tags),
    "codes": Reader(samples.encoded, read_codes),
    "log": Reader(lambda: [index_folder()[1]], read_log),
    "log-record": Reader(log_records, read_record),
    "body": Reader(lambda: [*_json(SEARCH), *_json(ITEM)], read_body, "fastapi"),
    "form": Reader(lambda: [FORM], read_form, "python_multipart"),
    "condition": Reader(lambda: CONDITIONS, read_condition),
    "words": Reader(lambda: WORDS, _words),
}
