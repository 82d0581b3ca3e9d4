"""Image networks below the hash layer, and the fused layers that they run on."""
