"""Settings of methods: checked when set, given as text, and ranges to tune them in."""
