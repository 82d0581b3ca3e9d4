"""How fast methods and networks learn, beside plain loops and floors."""
