"""Generated pairs: coloured things in scenes, with captions and labels."""
