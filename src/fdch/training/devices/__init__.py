"""How training uses its devices: steps, streams, several processes."""
