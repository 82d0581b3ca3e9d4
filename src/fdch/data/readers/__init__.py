"""Files to a PairedSet: one module for each format or dataset."""
