"""What is supposed of pairs without labels."""

import pytest
import torch

from fdch.objectives.pairwise import suppose_similarity


def test_orthogonal_outputs_stand_for_even_odds_unless_shifted():
    H = torch.tensor([[1.0, 1.0]])
    others = torch.tensor([[1.0, -1.0], [1.0, 1.0]])
    even, alike = suppose_similarity(H, others)[0].tolist()
    assert even == 0.5
    assert alike == pytest.approx(1 / (1 + torch.e**-1))
    assert suppose_similarity(H, others[:1], shift=-2.0).item() < 0.2
