"""Pictures changed at random: what changes, and that seeds decide it."""

import pytest
import torch

from fdch.networks.augmentation import Augmentation, crop, recolour
from fdch.networks.head import FineTunedNetwork, ImageHead
from fdch.networks.image import load
from fdch.networks.share import Share, compute_share

SIZE = 20
HALF = torch.full((1, 3), 0.5)


@pytest.fixture
def pixels():
    generator = torch.Generator().manual_seed(0)
    shape = (6, SIZE, SIZE, 3)
    return torch.randint(256, shape, generator=generator, dtype=torch.uint8)


def planes(pixels):
    return pixels[:1].permute(0, 3, 1, 2).float()


def test_nothing_changes_outside_training(pixels):
    assert Augmentation().eval()(pixels) is pixels


def test_the_seed_decides_what_changes(pixels):
    augment = Augmentation()
    results = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        results.append(augment(pixels))
    one, same, other = results
    assert one.shape == pixels.shape and one.dtype == torch.uint8
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert not torch.equal(one, pixels)


def test_a_share_is_changed_as_in_the_whole_batch(pixels):
    augment = Augmentation()
    torch.manual_seed(1)
    whole = augment(pixels)
    torch.manual_seed(1)
    with compute_share(Share(6, slice(2, 5))):
        part = augment(pixels[2:5])
    assert torch.equal(part, whole[2:5])


def test_a_crop_of_full_size_is_the_picture_or_its_mirror_image(pixels):
    given = planes(pixels)
    whole = crop(given, torch.tensor([[1.0, 0.3, 0.8, 0.9]]))
    torch.testing.assert_close(whole, given, atol=1e-3, rtol=0)
    mirrored = crop(given, torch.tensor([[1.0, 0.3, 0.8, 0.1]]))
    torch.testing.assert_close(mirrored, given.flip(3), atol=1e-3, rtol=0)


def test_a_crop_is_the_square_at_its_place():
    # values are their own column, so that the crop shows what it was cut from
    columns = torch.arange(SIZE).float().expand(1, 3, SIZE, SIZE)
    left = crop(columns, torch.tensor([[0.0, 0.0, 0.5, 0.9]]))
    right = crop(columns, torch.tensor([[0.0, 1.0, 0.5, 0.9]]))
    side = 0.7 * SIZE
    for place in range(1, SIZE - 1):
        inside = (place + 0.5) / SIZE * side - 0.5
        assert left[0, 0, 9, place].item() == pytest.approx(max(inside, 0), abs=1e-3)
        shifted = min(inside + SIZE - side, SIZE - 1)
        assert right[0, 0, 9, place].item() == pytest.approx(shifted, abs=1e-3)


def test_factors_of_one_leave_colours_alone(pixels):
    given = planes(pixels)
    torch.testing.assert_close(recolour(given, HALF), given)


def test_colours_change_as_the_formula_says(pixels):
    given = planes(pixels).double()
    draws = torch.tensor([[1.0, 0.0, 0.25]], dtype=torch.float64)
    brightness, contrast, colour = 1.2, 0.8, 0.9
    bright = given[0].numpy() * brightness
    expected = bright.mean() + contrast * (bright - bright.mean())
    grey = expected.mean(axis=0)
    expected = grey + colour * (expected - grey)
    found = recolour(given, draws)[0].numpy()
    assert found == pytest.approx(expected)


def test_a_network_sees_changed_pictures_while_it_trains():
    network = load("small")
    shape = (2, network.size, network.size, 3)
    pixels = torch.randint(256, shape, dtype=torch.uint8)
    module = FineTunedNetwork(network, ImageHead(network.width, 4), augment=True)
    with torch.no_grad():
        plain = FineTunedNetwork(network, module.head).eval()(pixels)
        assert torch.equal(module.eval()(pixels), plain)
        assert not torch.equal(module.train()(pixels), plain)
    assert (
        module.state_dict().keys()
        == FineTunedNetwork(network, module.head).state_dict().keys()
    )
