"""Picture files to pixels, under limits."""
