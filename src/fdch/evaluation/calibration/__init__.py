"""How probable results are: the models, how they are fitted, and whether they hold."""
