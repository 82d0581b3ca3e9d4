"""The settings of a method, chosen on pairs held out of its training part."""
