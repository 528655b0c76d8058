"""`python -m galloscope.app` is `galloscope`."""

import sys

from .cli import main

sys.exit(main())
