"""HTTP below the routes: limits, tokens, bodies, errors."""
