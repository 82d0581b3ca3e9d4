"""The content of `/docs` and `/openapi.json`."""
