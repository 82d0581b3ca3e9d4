"""Model folders of transformers with a few random weights, written by tests."""

import string
from typing import Any

SIZE = 32
LETTERS = tuple(string.ascii_lowercase)
SIDE = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
VISION = {**SIDE, "image_size": SIZE, "patch_size": 8}


def write_clip(folder, width=12, seed=0):
    """Write a CLIP with its image processor and tokenizer, and give the model."""
    from transformers import CLIPConfig, CLIPModel, CLIPTokenizer

    ends = ["<|startoftext|>", "<|endoftext|>"]
    words = [*ends, *LETTERS, *(f"{letter}</w>" for letter in LETTERS)]
    text = {**SIDE, "vocab_size": len(words), "max_position_embeddings": 24}
    numbers = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    config = CLIPConfig(
        text_config={**text, **numbers}, vision_config=VISION, projection_dim=width
    )
    vocabulary = {word: number for number, word in enumerate(words)}
    CLIPTokenizer(vocab=vocabulary, merges=[]).save_pretrained(folder)
    return _write(folder, CLIPModel, config, seed)


def write_dinov2(folder):
    """Write a DINOv2 with its image processor, and give the model."""
    from transformers import Dinov2Config, Dinov2Model

    options: dict[str, Any] = {**VISION, "patch_size": 8}
    return _write(folder, Dinov2Model, Dinov2Config(**options))


def write_siglip(folder):
    """Write a SigLIP with its image processor and a tokenizer; give the model."""
    from transformers import SiglipConfig, SiglipModel

    text = {**SIDE, "vocab_size": 40, "max_position_embeddings": 6}
    _write_tokenizer(folder)
    config = SiglipConfig(text_config=text, vision_config=VISION)
    return _write(folder, SiglipModel, config)


def write_sentence_encoder(folder):
    """Write a BERT with a tokenizer, and give the model."""
    from transformers import BertConfig, BertModel

    _write_tokenizer(folder)
    options: dict[str, Any] = {**SIDE, "vocab_size": 40, "max_position_embeddings": 20}
    return _write(folder, BertModel, BertConfig(**options), processor=False)


def _write(folder, kind, config, seed=0, processor=True):
    import torch
    from transformers.utils import logging

    logging.disable_progress_bar()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = kind(config).eval()
        for weight in model.parameters():  # at first all texts are nearly alike
            torch.nn.init.normal_(weight, 0, 0.3)
    model.save_pretrained(folder)
    if processor:
        from transformers import CLIPImageProcessorPil

        edge, square = {"shortest_edge": SIZE}, {"height": SIZE, "width": SIZE}
        CLIPImageProcessorPil(size=edge, crop_size=square).save_pretrained(folder)
    return model


def _write_tokenizer(folder):
    """Write a tokenizer of single letters."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<pad>", "<unk>", *LETTERS]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>"
    )
    wrapped.save_pretrained(folder)
