"""Search a service from another program."""
