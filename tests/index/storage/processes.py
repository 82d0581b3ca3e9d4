"""What other processes of these tests need to find this package and these tests."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[3]
ENVIRONMENT = os.environ | {
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])
}
