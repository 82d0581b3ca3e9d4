"""The service under mixed load for a long time."""
