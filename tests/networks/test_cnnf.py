"""CNN-F: the table of its layers, and weights in MatConvNet's layouts."""

import numpy as np
import pytest
import torch
from scipy.io import savemat
from torch import nn
from torch.nn import functional

from fdch.errors import DataError, MissingFile
from fdch.networks.backbones import matconvnet
from fdch.networks.backbones.cnnf import (
    CNNF,
    WIDTHS,
    convolve_blocks,
    load_weights,
    pool,
)
from fdch.networks.initialization import initialize

NARROW = (4, 6, 5, 5, 6, 12, 10)
KERNELS = (11, 5, 3, 3, 3, 6, 1)
NAMES = ("conv1", "conv2", "conv3", "conv4", "conv5", "fc6", "fc7")


def network(widths=NARROW):
    net = CNNF(widths)
    initialize(net, "he", torch.Generator().manual_seed(0))
    return net


def published(widths=NARROW, seed=0):
    """Filters and biases as MatConvNet keeps them: height, width, in, out."""
    rng = np.random.default_rng(seed)
    layers, inputs = {}, 3
    for name, kernel, outputs in zip(NAMES, KERNELS, widths, strict=True):
        filters = rng.standard_normal((kernel, kernel, inputs, outputs), np.float32)
        biases = rng.standard_normal((1, outputs), np.float32)
        layers[name] = (filters * np.float32((2 / inputs) ** 0.5 / kernel), biases)
        inputs = outputs
    return layers


def mean_picture(seed=1):
    return np.random.default_rng(seed).uniform(90, 130, (224, 224, 3)).astype("f4")


def cell(items):
    array = np.empty((1, len(items)), dtype=object)
    array[0, :] = items
    return array


def write(path, layers, mean, layout="newer"):
    structs = []
    for name, (filters, biases) in layers.items():
        struct = {"name": name, "type": "conv"}
        if layout == "newer":
            struct["weights"] = cell([filters, biases])
        else:
            struct |= {"filters": filters, "biases": biases}
        structs += [struct, {"name": f"relu_{name}", "type": "relu"}]
    normalization = {"averageImage": mean}
    rest = {"meta": {"normalization": normalization}}
    rest = rest if layout == "newer" else {"normalization": normalization}
    savemat(path, {"layers": cell(structs), **rest})
    return path


def plain_features(layers, mean, pixels):
    """CNN-F straight from the table, in torch's own functions."""
    x = torch.from_numpy((pixels - mean).transpose(0, 3, 1, 2).astype(np.float32))

    def conv(x, name, **options):
        filters, biases = (torch.from_numpy(part) for part in layers[name])
        kernel = filters.permute(3, 2, 0, 1)
        return functional.conv2d(x, kernel, biases[0], **options).relu()

    def norm(x):
        return functional.local_response_norm(x, 5, alpha=5e-4, beta=0.75, k=2)

    x = functional.pad(norm(conv(x, "conv1", stride=4)), (0, 1, 0, 1))
    x = functional.max_pool2d(x, 3, 2)
    x = functional.max_pool2d(norm(conv(x, "conv2", padding=2)), 3, 2)
    for name in ("conv3", "conv4", "conv5"):
        x = conv(x, name, padding=1)
    x = conv(conv(functional.max_pool2d(x, 3, 2), "fc6"), "fc7")
    return x[:, :, 0, 0]


def test_parameters_count_as_in_the_table():
    net = CNNF()
    layers = [*net.convolutions.values(), net.fc6, net.fc7]
    assert [sum(p.numel() for p in layer.parameters()) for layer in layers] == [
        23_296,
        409_856,
        590_080,
        590_080,
        590_080,
        37_752_832,
        16_781_312,
    ]


def test_layers_give_the_sizes_of_the_table():
    net, seen = network(), []
    for layer in [*net.convolutions.values(), net.fc6, net.fc7]:
        assert isinstance(layer, nn.Module)
        layer.register_forward_hook(lambda _, __, out: seen.append(tuple(out.shape)))
    net(torch.zeros(2, 224, 224, 3, dtype=torch.uint8))
    sides = [54, 27, 13, 13, 13]
    convolved = [(2, w, s, s) for w, s in zip(NARROW, sides, strict=False)]
    assert seen == [*convolved, (2, 12), (2, 10)]


def test_blocks_give_the_convolution_with_a_stride_and_its_gradient():
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (2, 32, 32, 3), dtype=torch.uint8, generator=generator)
    mean = 255 * torch.rand(32, 32, 3, generator=generator, dtype=torch.float64)
    weight = torch.randn(5, 3, 11, 11, generator=generator, dtype=torch.float64)
    weight.requires_grad_()
    found = convolve_blocks(pixels, mean, weight, stride=4)
    planes = (pixels - mean).permute(0, 3, 1, 2)
    expected = functional.conv2d(planes, weight, stride=4)
    torch.testing.assert_close(found, expected)
    weights = torch.randn(found.shape, generator=generator, dtype=torch.float64)
    (one,) = torch.autograd.grad((found * weights).sum(), weight)
    (other,) = torch.autograd.grad((expected * weights).sum(), weight)
    torch.testing.assert_close(one, other)


def test_pool_after_conv1_overhangs_below_and_right_only():
    planes = torch.rand(1, 2, 54, 54)
    expected = np.empty((2, 27, 27), dtype=np.float32)
    for channel, row, column in np.ndindex(expected.shape):
        window = planes[0, channel, 2 * row : 2 * row + 3, 2 * column : 2 * column + 3]
        expected[channel, row, column] = window.max()
    np.testing.assert_array_equal(pool(planes)[0], expected)


@pytest.mark.parametrize("side", [27, 13])
def test_later_pools_drop_nothing_and_add_nothing(side):
    planes = torch.rand(1, 2, side, side)
    assert torch.equal(pool(planes), functional.max_pool2d(planes, 3, 2))


@pytest.mark.parametrize("layout", ["newer", "older"])
def test_published_weights_give_the_published_function(tmp_path, layout):
    layers, mean = published(), mean_picture()
    net = CNNF(NARROW)
    load_weights(net, write(tmp_path / "net.mat", layers, mean, layout))
    pixels = np.random.default_rng(2).integers(0, 256, (2, 224, 224, 3), np.uint8)
    with torch.no_grad():
        features = net(torch.from_numpy(pixels))
    expected = plain_features(layers, mean, pixels)
    assert (expected > 0).any()
    torch.testing.assert_close(features, expected, atol=1e-4, rtol=1e-4)


def test_filters_keep_their_rows_and_columns(tmp_path):
    net, layers = CNNF(NARROW), published()
    load_weights(net, write(tmp_path / "net.mat", layers, mean_picture()))
    filters = layers["conv1"][0]  # height, width, in, out
    loaded = net.state_dict()["convolutions.conv1.weight"]  # out, in, height, width
    for at in [(10, 0, 2, 3), (0, 10, 1, 0), (4, 7, 0, 2)]:
        row, column, inputs, outputs = at
        assert loaded[outputs, inputs, row, column] == filters[at]


def test_a_mean_of_three_values_is_spread_over_the_picture(tmp_path):
    mean = np.array([1, 2, 3], dtype=np.float32).reshape(1, 1, 3)
    net = CNNF(NARROW)
    load_weights(net, write(tmp_path / "net.mat", published(), mean))
    assert net.mean.shape == (224, 224, 3)
    assert net.mean[100, 50].tolist() == [1, 2, 3]


def test_a_single_filter_survives_matlabs_dropped_axes(tmp_path):
    widths = (*NARROW[:6], 1)
    net, layers = CNNF(widths), published(widths)
    load_weights(net, write(tmp_path / "net.mat", layers, mean_picture()))
    filters, biases = layers["fc7"]
    assert np.array_equal(net.fc7.weight.detach(), filters[0, 0].T)
    assert np.array_equal(net.fc7.bias.detach(), biases[0])


def test_layers_beyond_fc7_are_left_out(tmp_path):
    layers, (net, longer) = published(), (network(), network())
    load_weights(net, write(tmp_path / "net.mat", layers, mean_picture()))
    layers["fc8"] = (np.zeros((1, 1, 10, 3), "f4"), np.zeros((1, 3), "f4"))
    load_weights(longer, write(tmp_path / "longer.mat", layers, mean_picture()))
    one, other = net.state_dict(), longer.state_dict()
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_refuses_a_layer_of_another_shape_naming_both(tmp_path):
    layers = published()
    layers["conv2"] = layers["conv3"]
    path = write(tmp_path / "net.mat", layers, mean_picture())
    with pytest.raises(DataError, match=r"conv2.*\(3, 3, 6, 5\).*\(5, 5, 4, 6\)"):
        load_weights(network(), path)


def test_refuses_a_missing_layer_listing_the_present(tmp_path):
    layers = published()
    del layers["fc7"]
    path = write(tmp_path / "net.mat", layers, mean_picture())
    with pytest.raises(DataError, match="no layer 'fc7'; it has: conv1"):
        load_weights(network(), path)


@pytest.mark.parametrize("shape", [(10, 10, 3), (224, 224, 4), (5,)])
def test_refuses_a_mean_picture_of_another_shape(tmp_path, shape):
    path = write(tmp_path / "net.mat", published(), np.zeros(shape, np.float32))
    with pytest.raises(DataError, match="mean picture"):
        load_weights(network(), path)


def test_refuses_files_that_are_no_network(tmp_path):
    path = tmp_path / "net.mat"
    with pytest.raises(MissingFile, match="no weights file"):
        load_weights(network(), path)
    path.write_bytes(b"x" * 500)
    with pytest.raises(DataError, match=r"read as a MATLAB file .*imagenet-vgg-f\.mat"):
        load_weights(network(), path)
    savemat(path, {"something": 1})
    with pytest.raises(DataError, match="not laid out"):
        load_weights(network(), path)
    savemat(path, {"layers": np.ones(3), "meta": 1})
    with pytest.raises(DataError, match="not laid out"):
        load_weights(network(), path)


def test_refuses_hdf5_matlab_files_saying_how_to_convert(tmp_path):
    path = tmp_path / "net.mat"
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    path.write_bytes(header.ljust(600, b"\0"))
    with pytest.raises(DataError, match="-v7"):
        load_weights(network(), path)


@pytest.mark.parametrize("kept", [130, 2000, 0.5, 0.99])
def test_refuses_truncated_files(tmp_path, kept):
    path = write(tmp_path / "net.mat", published(), mean_picture())
    content = path.read_bytes()
    path.write_bytes(content[: kept if kept > 1 else int(kept * len(content))])
    with pytest.raises(DataError, match=r"net\.mat"):
        load_weights(network(), path)


def test_refuses_a_file_far_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(matconvnet, "LARGEST_FILE", 3)
    path = write(tmp_path / "net.mat", published(), mean_picture())
    with pytest.raises(DataError, match="not CNN-F weights"):
        load_weights(network(), path)


def test_gradients_reach_the_first_layer():
    net = network()
    pixels = torch.randint(0, 256, (2, 224, 224, 3), dtype=torch.uint8)
    net(pixels).sum().backward()
    first = net.convolutions["conv1"].weight.grad
    assert isinstance(first, torch.Tensor)
    assert first.abs().max() > 0


@pytest.mark.slow
def test_full_size_weights_load(tmp_path):
    layers = published(WIDTHS)
    net = CNNF()
    load_weights(net, write(tmp_path / "net.mat", layers, mean_picture()))
    pixels = np.random.default_rng(2).integers(0, 256, (1, 224, 224, 3), np.uint8)
    with torch.no_grad():
        features = net(torch.from_numpy(pixels))
    assert features.shape == (1, 4096)
    expected = plain_features(layers, mean_picture(), pixels)
    torch.testing.assert_close(features, expected, atol=1e-3, rtol=1e-3)
