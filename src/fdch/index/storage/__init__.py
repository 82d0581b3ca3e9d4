"""The index folder: rows, catalogue, snapshots, repair. Knows no kernel."""
