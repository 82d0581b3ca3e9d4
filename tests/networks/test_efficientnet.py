"""EfficientNet-Lite: its shapes, its padding, and known features."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from fdch.errors import DataError, MissingExtra, MissingFile
from fdch.networks.backbones import efficientnet_weights
from fdch.networks.backbones.efficientnet import (
    ConvolutionNorm,
    EfficientNetLite0,
    EfficientNetLite1,
    EfficientNetLite2,
    same_padding,
)
from fdch.networks.backbones.efficientnet_weights import (
    PUBLISHED,
    load_weights,
    packaged_weights,
    source_names,
)
from fdch.networks.image import load

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


NETWORKS = (EfficientNetLite0, EfficientNetLite1, EfficientNetLite2)
# kernel, stride and output channels of every block
LITE1 = (
    [(3, 1, 16), (3, 2, 24), (3, 1, 24), (3, 1, 24)]
    + [(5, 2, 40), (5, 1, 40), (5, 1, 40)]
    + [(3, 2, 80), (3, 1, 80), (3, 1, 80), (3, 1, 80)]
    + [(5, 1, 112)] * 4
    + [(5, 2, 192), (5, 1, 192), (5, 1, 192), (5, 1, 192), (5, 1, 192)]
    + [(3, 1, 320)]
)
WIDER = {16: 16, 24: 24, 40: 48, 80: 88, 112: 120, 192: 208, 320: 352}
LITE2 = [(kernel, stride, WIDER[outputs]) for kernel, stride, outputs in LITE1]


def load_pretrained(kind):
    network = kind()
    load_weights(network, packaged_weights(network.name))
    return network.eval()


@pytest.fixture(scope="module")
def pretrained():
    return load_pretrained(EfficientNetLite0)


def picture(size=224):
    """A red square and a blue disc on a gradient."""
    y, x = np.mgrid[0:size, 0:size]
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


def classify(state, blocks, pixels):
    """Run the published network as it is described, layer by layer, in float64."""
    state = {name: tensor.double() for name, tensor in state.items()}

    def layer(x, conv, norm, stride=1, depthwise=False, activated=True):
        weight = state[f"{conv}.weight"]
        kernel, size = weight.shape[-1], x.shape[-1]
        lacking = max((-(-size // stride) - 1) * stride + kernel - size, 0)
        before, after = lacking // 2, lacking - lacking // 2
        x = functional.pad(x, (before, after, before, after))
        groups = x.shape[1] if depthwise else 1
        x = functional.conv2d(x, weight, stride=stride, groups=groups)
        mean, variance, scale, shift = (
            state[f"{norm}.{field}"][:, None, None]
            for field in ("running_mean", "running_var", "weight", "bias")
        )
        x = (x - mean) / torch.sqrt(variance + 1e-3) * scale + shift
        return x.clamp(0, 6) if activated else x

    x = (pixels.double().permute(0, 3, 1, 2) - 127) / 128
    x = layer(x, "_conv_stem", "_bn0", stride=2)
    for number, (kernel, stride, outputs) in enumerate(blocks):
        name, before = f"_blocks.{number}", x
        if number:
            x = layer(x, f"{name}._expand_conv", f"{name}._bn0")
        assert state[f"{name}._depthwise_conv.weight"].shape[-1] == kernel
        x = layer(x, f"{name}._depthwise_conv", f"{name}._bn1", stride, depthwise=True)
        x = layer(x, f"{name}._project_conv", f"{name}._bn2", activated=False)
        assert x.shape[1] == outputs
        if stride == 1 and before.shape == x.shape:
            x = x + before
    features = layer(x, "_conv_head", "_bn1").mean(dim=(2, 3))
    return features, features @ state["_fc.weight"].T + state["_fc.bias"]


@pytest.mark.parametrize(
    ("kind", "blocks"), [(EfficientNetLite1, LITE1), (EfficientNetLite2, LITE2)]
)
def test_larger_networks_equal_a_plain_transcription(kind, blocks):
    network = load_pretrained(kind)
    state = torch.load(packaged_weights(network.name), weights_only=True)
    pixels = torch.cat([picture(network.size), picture(network.size).flip(2)])
    with torch.no_grad():
        features = network(pixels)
        expected, logits = classify(state, blocks, pixels)
    torch.testing.assert_close(features, expected.float(), atol=1e-4, rtol=1e-4)
    found = features @ state["_fc.weight"].T + state["_fc.bias"]
    assert torch.equal(found.argmax(dim=1), logits.argmax(dim=1))


@pytest.mark.parametrize(
    ("kind", "parameters", "sizes"),
    [
        (EfficientNetLite0, 4_652_008, [112, 7]),
        (EfficientNetLite1, 5_416_680, [120, 8]),
        (EfficientNetLite2, 6_092_072, [130, 9]),
    ],
)
def test_parameters_and_sizes_are_the_published_ones(kind, parameters, sizes):
    network = kind()
    classifier = 1280 * 1000 + 1000
    count = sum(parameter.numel() for parameter in network.parameters())
    assert count + classifier == parameters
    assert [network.stem.output_size, network.head.output_size] == sizes


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


def test_every_tensor_has_one_source(pretrained):
    ours, theirs = zip(*source_names(pretrained), strict=True)
    assert sorted(ours) == sorted(pretrained.state_dict())
    assert len(set(theirs)) == len(theirs) == 294
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


@pytest.mark.parametrize("kind", NETWORKS)
def test_weights_packages_are_checked_by_digest(kind, monkeypatch):
    other = PUBLISHED[kind.name]._replace(sha256="0" * 64)
    monkeypatch.setitem(PUBLISHED, kind.name, other)
    with pytest.raises(DataError, match=f"Reinstall the package {other.package}"):
        packaged_weights(kind.name)


@pytest.mark.parametrize(
    ("kind", "extra"),
    [
        (EfficientNetLite0, "train"),
        (EfficientNetLite1, "networks"),
        (EfficientNetLite2, "networks"),
    ],
)
def test_missing_weights_package_names_the_extra(kind, extra, monkeypatch):
    absent = PUBLISHED[kind.name]._replace(package="no_such_package")
    monkeypatch.setitem(PUBLISHED, kind.name, absent)
    with pytest.raises(MissingExtra, match=rf"'{kind.name}' .*fdch\[{extra}\]"):
        load(kind.name)


def test_refuses_the_weights_of_another_size():
    with pytest.raises(DataError, match="weights of 'efficientnet_lite1'"):
        load_weights(EfficientNetLite1(), packaged_weights("efficientnet_lite2"))


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
    state = torch.load(packaged_weights("efficientnet_lite0"), weights_only=True)
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
