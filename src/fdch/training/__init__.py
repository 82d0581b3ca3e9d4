"""How networks learn: inputs, epochs over batches, stages and their checkpoints."""
