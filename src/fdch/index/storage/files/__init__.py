"""What lies on disk: log, rows, locks, and their checksums."""
