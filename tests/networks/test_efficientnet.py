"""EfficientNet-Lite0: its shapes, its padding, and known features."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from fdch.errors import DataError, MissingExtra, MissingFile
from fdch.networks import efficientnet_weights
from fdch.networks.efficientnet import (
    ConvolutionNorm,
    EfficientNetLite0,
    same_padding,
)
from fdch.networks.efficientnet_weights import (
    load_weights,
    packaged_weights,
    source_names,
)

# Features of the picture below from the reference implementation (the package
# efficientnet_lite_pytorch 0.1.0 with the same weights): the eight largest and
# three others.
REFERENCE = {
    897: 3.83320,
    113: 2.88273,
    1260: 2.85097,
    71: 2.47632,
    115: 2.44166,
    829: 2.38728,
    265: 2.10712,
    747: 2.01705,
    2: 1.69409,
    3: 0.30924,
    7: 0.30485,
}
REFERENCE_SUM = 192.73338


@pytest.fixture(scope="module")
def pretrained():
    network = EfficientNetLite0()
    load_weights(network, packaged_weights())
    return network.eval()


def picture():
    """A red square and a blue disc on a gradient."""
    y, x = np.mgrid[0:224, 0:224]
    pixels = np.stack([x, y, (x + y) // 2], axis=-1).astype(np.uint8)
    pixels[60:140, 80:180] = [200, 30, 40]
    pixels[(y - 150) ** 2 + (x - 60) ** 2 < 40**2] = [20, 90, 220]
    return torch.from_numpy(pixels)[None]


def test_features_equal_the_reference_implementation(pretrained):
    with torch.no_grad():
        (features,) = pretrained(picture())
    assert features.sum().item() == pytest.approx(REFERENCE_SUM, abs=1e-2)
    for index, value in REFERENCE.items():
        assert features[index].item() == pytest.approx(value, abs=1e-4)


def test_folding_changes_the_arithmetic_not_the_features(pretrained):
    folded = pretrained.folded()
    assert not any(isinstance(part, nn.BatchNorm2d) for part in folded.modules())
    with torch.no_grad():
        torch.testing.assert_close(
            folded(picture()), pretrained(picture()), atol=1e-4, rtol=0
        )
    assert any(isinstance(part, nn.BatchNorm2d) for part in pretrained.modules())


def test_folding_twice_is_folding_once(pretrained):
    once = pretrained.folded()
    assert once.folded().fingerprint == once.fingerprint


def test_parameters_count_as_published(pretrained):
    classifier = 1280 * 1000 + 1000
    count = sum(parameter.numel() for parameter in pretrained.parameters())
    assert count + classifier == 4_652_008


def test_every_tensor_has_one_source(pretrained):
    ours, theirs = zip(*source_names(pretrained), strict=True)
    assert sorted(ours) == sorted(pretrained.state_dict())
    assert len(set(theirs)) == len(theirs) == 294


def test_resolution_halves_five_times_to_seven(pretrained):
    assert [pretrained.stem.output_size, pretrained.head.output_size] == [112, 7]
    assert len(pretrained.blocks) == 16


@given(st.integers(1, 60), st.sampled_from([1, 3, 5]), st.sampled_from([1, 2]))
def test_same_padding_gives_ceil_of_size_over_stride(size, kernel, stride):
    before, after = same_padding(size, kernel, stride)
    assert 0 <= after - before <= 1
    if before + after + size >= kernel:
        assert (size + before + after - kernel) // stride + 1 == -(-size // stride)


@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("size", [8, 9])
def test_padding_the_kernel_equals_padding_the_picture(size, kernel, stride):
    layer = ConvolutionNorm(size, 4, 4, kernel=kernel, stride=stride, groups=2)
    torch.nn.init.normal_(layer.conv.weight)
    planes = torch.randn(2, 4, size, size)
    before, after = same_padding(size, kernel, stride)
    padded = functional.pad(planes, (before, after, before, after))
    plain = functional.conv2d(padded, layer.conv.weight, stride=stride, groups=2)
    expected = functional.relu6(plain / np.sqrt(1 + 1e-3))
    torch.testing.assert_close(layer.eval()(planes), expected)


def test_training_reaches_every_weight(pretrained):
    network = copy.deepcopy(pretrained).train()
    network(picture().repeat(2, 1, 1, 1)).square().sum().backward()
    assert all(part.grad is not None for part in network.parameters())


def test_weights_package_is_checked_by_digest(monkeypatch):
    monkeypatch.setattr(efficientnet_weights, "SHA256", "0" * 64)
    with pytest.raises(DataError, match="not the published ones"):
        packaged_weights()


def test_missing_weights_package_names_the_extra(monkeypatch):
    monkeypatch.setattr(efficientnet_weights, "PACKAGE", "no_such_package")
    with pytest.raises(MissingExtra, match=r"fdch\[train\]"):
        packaged_weights()


def test_refuses_files_that_are_not_these_weights(tmp_path):
    network = EfficientNetLite0()
    path = tmp_path / "weights.pth"
    with pytest.raises(MissingFile, match="cannot read"):
        load_weights(network, path)
    path.write_bytes(b"hello")
    with pytest.raises(DataError, match="cannot be read as a torch state dict"):
        load_weights(network, path)
    torch.save([1, 2], path)
    with pytest.raises(DataError, match="else than named tensors"):
        load_weights(network, path)
    torch.save({"weight": torch.zeros(1)}, path)
    with pytest.raises(DataError, match="missing, unknown or of another shape"):
        load_weights(network, path)


def test_refuses_weights_of_another_shape_or_with_extra_tensors(tmp_path):
    network = EfficientNetLite0()
    state = torch.load(packaged_weights(), weights_only=True)
    path = tmp_path / "weights.pth"
    torch.save({**state, "extra": torch.zeros(1)}, path)
    with pytest.raises(DataError, match="first 'extra'"):
        load_weights(network, path)
    torch.save({**state, "_bn0.bias": torch.zeros(1)}, path)
    with pytest.raises(DataError, match=r"first '_bn0\.bias'"):
        load_weights(network, path)


def test_refuses_a_file_far_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(efficientnet_weights, "LARGEST_FILE", 3)
    path = tmp_path / "weights.pth"
    path.write_bytes(b"hello")
    with pytest.raises(DataError, match="not weights"):
        load_weights(EfficientNetLite0(), path)
