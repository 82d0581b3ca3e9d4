"""Networks that turn pictures, words and pairs of them into real outputs."""

from fdch.errors import MissingExtra

try:
    import torch  # noqa: F401  every file of this folder needs it
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise MissingExtra("training or encoding with a network", "train") from error
