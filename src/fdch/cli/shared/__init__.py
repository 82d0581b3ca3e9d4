"""Shared by commands: options, output, progress lines, lazy groups."""
