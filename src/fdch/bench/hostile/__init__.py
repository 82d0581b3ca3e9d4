"""Requests that no service should fall for, and how it takes them."""
