"""Watch the service under mixed load: `python -m tests.soak.run --minutes 60`.

`fdch serve` runs in its own process. Four clients search by text, picture and item,
count values, put texts and pictures, remove items, and send hostile requests. Each
knows its own items and compares every answer about them with a search of its own. At
the end, the index is verified and compared with all that was acknowledged.

The exit code is 1 if an answer is wrong, a request fails, an item is lost or damaged,
or memory grows by more than a fifth after the first quarter.
"""

import argparse
import json
import sys

from tests.soak.campaign import list_problems, soak


def main() -> None:
    """Read the arguments, soak, and fail where anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument(
        "--rate", type=float, default=20.0, help="requests a second, of all clients"
    )
    parser.add_argument(
        "--items", type=int, default=20_000, help="in the index at first"
    )
    parser.add_argument("--seed", type=int, default=0)
    found = soak(**vars(parser.parse_args()))
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    if problems := list_problems(found):
        sys.exit(f"the soak test failed: {'. '.join(problems)}.")


if __name__ == "__main__":
    main()
