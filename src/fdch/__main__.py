"""`python -m fdch` is `fdch`."""

from fdch.cli import main

if __name__ == "__main__":
    main()
