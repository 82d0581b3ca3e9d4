"""What several commands use: options, output, progress lines, lazy groups."""
