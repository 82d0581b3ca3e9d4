"""Pictures changed at random, so that a network does not learn them by heart."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from fdch.networks.share import current_share

MIN_SIDE = 0.7  # of a crop, as a share of the picture's
RECOLOURED = 0.2  # by how much brightness, contrast and colour change at most


class Augmentation(nn.Module):
    """Crop, mirror and recolour while training; do nothing otherwise.

    Draws come from torch's generator, which training seeds for each epoch, and are
    made where the pictures are.
    """

    @torch.no_grad()
    def forward(self, pixels: Tensor) -> Tensor:
        """Change pictures, uint8 (batch, size, size, 3)."""
        if not self.training:
            return pixels
        share = current_share()
        items = len(pixels) if share is None else share.items
        draws = torch.rand(items, 7, device=pixels.device)
        if share is not None:
            draws = draws[share.rows]
        planes = crop(pixels.permute(0, 3, 1, 2).float(), draws[:, :4])
        planes = recolour(planes, draws[:, 4:])
        changed = planes.round().clamp(0, 255).to(torch.uint8)
        return changed.permute(0, 2, 3, 1).contiguous()


def crop(planes: Tensor, draws: Tensor) -> Tensor:
    """Cut a square out of each picture, stretch it to full size, mirror every other.

    Planes are (batch, 3, size, size). Draws from 0 to 1 are of the square's side, its
    two places, and mirroring, (batch, 4).
    """
    side = MIN_SIDE + (1 - MIN_SIDE) * draws[:, 0]
    right, down = (2 * draws[:, i] - 1 for i in (1, 2))  # from edge to edge
    mirror = torch.where(draws[:, 3] < 0.5, -1.0, 1.0)
    nothing = torch.zeros_like(side)
    across = torch.stack([mirror * side, nothing, right * (1 - side)], dim=1)
    along = torch.stack([nothing, side, down * (1 - side)], dim=1)
    places = functional.affine_grid(
        torch.stack([across, along], dim=1), list(planes.shape), align_corners=False
    )
    return functional.grid_sample(
        planes, places, padding_mode="border", align_corners=False
    )


def recolour(planes: Tensor, draws: Tensor) -> Tensor:
    """Change brightness, contrast and colour of each picture, (batch, 3, size, size).

    Draws from 0 to 1 are of the three factors, (batch, 3).
    """
    factors = 1 + RECOLOURED * (2 * draws - 1)
    brightness, contrast, colour = factors.T[:, :, None, None, None]
    planes = planes * brightness
    mean = planes.mean(dim=(1, 2, 3), keepdim=True)
    planes = mean + contrast * (planes - mean)
    grey = planes.mean(dim=1, keepdim=True)
    return grey + colour * (planes - grey)
