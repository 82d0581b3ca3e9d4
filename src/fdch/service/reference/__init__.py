"""What `/docs` and `/openapi.json` show."""
