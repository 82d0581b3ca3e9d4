"""A model and a store together: index, queries, search, results."""
