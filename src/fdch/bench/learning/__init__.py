"""Training speed, beside plain loops and floors."""
