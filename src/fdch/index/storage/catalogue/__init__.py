"""What SQLite keeps of items, derived from the log: ids, columns, words."""
