"""Find pictures with words and words with pictures through learned binary codes."""

__version__ = "0.1.0.dev0"
