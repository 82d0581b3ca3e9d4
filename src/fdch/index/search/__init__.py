"""Codes in, nearest rows out. Knows no file."""
