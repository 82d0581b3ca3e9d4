"""The service asked from another program."""
