"""Generated pairs with their pictures in files, and a run that learned from them."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from PIL import Image

SCENES, BITS = 300, 24
QUICK = {
    "text_features": "words",  # so that a query can have no known word
    "image_hidden": "0",
    "stage_one_epochs": "25",
    "stage_two_epochs": "25",
    "text_hidden": "128",
    "fusion_width": "64",
    "fusion_hidden": "64",
    "batch_size": "24",
    "learning_rate": "5e-3",
}
MANIFEST, PICTURES, RUN = "pairs.csv", "pictures", "run"


def training_task(folder, name=RUN, **changes):
    """The training of a run beside the manifest, with settings changed."""
    from fdch.data.split_drawing import SplitSizes
    from fdch.runs.pipeline import TrainingTask

    return TrainingTask(
        str(folder / MANIFEST),
        folder / name,
        "fdch",
        bits=BITS,
        settings=QUICK | changes,
        sizes=SplitSizes(query=20, train=260, validation=80),
    )


def make_scenes(folder: Path):
    """Write pictures and a manifest, and train a run on them."""
    from fdch.runs.pipeline import train_run

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    write_manifest(folder)
    train_run(training_task(folder))


def write_manifest(folder: Path):
    from fdch.data.pairs import PairedSet
    from fdch.data.pictures.images import Pictures
    from fdch.data.texts import Sentences

    generated = PairedSet.read(f"scenes:{SCENES}")
    assert isinstance(generated.images, Pictures)
    assert isinstance(generated.texts, Sentences)
    (folder / PICTURES).mkdir()
    rows = ["id,image,text,labels,scene,objects"]
    for row, name in enumerate(generated.ids):
        path = folder / PICTURES / f"{name}.png"
        Image.fromarray(np.asarray(generated.images.content(row))).save(path)
        labels = np.array(generated.label_names)[generated.labels[row] == 1]
        cells = (generated.columns[key][row] for key in ("scene", "objects"))
        text = generated.texts.values[row].replace('"', "")
        rows.append(
            f'{name},{PICTURES}/{path.name},"{text}",{";".join(labels)},'
            + ",".join(map(str, cells))
        )
    (folder / MANIFEST).write_text("\n".join(rows) + "\n", "utf-8")


def open_scenes(folder: Path):
    """Give `pairs`, `manifest`, `pictures` (their folder) and `run`."""
    from fdch.data.pairs import PairedSet
    from fdch.runs.run import open_run

    return SimpleNamespace(
        folder=folder,
        pairs=PairedSet.read(folder / MANIFEST),
        manifest=folder / MANIFEST,
        pictures=folder / PICTURES,
        run=open_run(folder / RUN),
    )
