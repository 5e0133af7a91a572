"""``python -m halflife`` is ``halflife``."""

import sys

from halflife.cli import main

sys.exit(main())
