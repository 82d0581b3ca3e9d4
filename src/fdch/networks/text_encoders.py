"""The text encoders by name: those of other packages, and model folders."""

from dataclasses import replace

from fdch.data.extensions import FOLDER, TEXT_ENCODERS, find_extensions, load_extension
from fdch.data.text_encoders import REGISTERED, TextEncoder
from fdch.errors import SettingError, suggestion
from fdch.networks.towers import describe_text_tower


def find_text_encoder(name: str, others: tuple[str, ...] = ()) -> TextEncoder:
    """Look a text encoder up by its name.

    Args:
        name: Of an encoder, or "transformers:DIR".
        others: What else the setting may be, for the message.
    """
    if name in REGISTERED:
        return REGISTERED[name]
    if name.startswith(FOLDER):
        return describe_text_tower(name)
    found = load_extension(TEXT_ENCODERS, name, TextEncoder)
    if found is None:
        known = sorted({*others, *REGISTERED, *find_extensions(TEXT_ENCODERS)})
        raise SettingError(
            f"unknown text_features '{name}'{suggestion(name, known) or '.'} "
            f"Known are: {', '.join(known)}; or write {FOLDER}DIR for a model folder."
        )
    return replace(found, name=name)
