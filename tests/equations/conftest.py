"""What the equation tests share."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def numerical_gradient():
    """Central differences of a function of one array, entry by entry."""

    def estimate(function, point, step=1e-6):
        gradient = np.zeros_like(point)
        for index in np.ndindex(point.shape):
            shift = np.zeros_like(point)
            shift[index] = step
            gradient[index] = function(point + shift) - function(point - shift)
        return gradient / (2 * step)

    return estimate
