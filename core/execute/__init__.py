"""Running a planned graph: its memory, its loop, its checks, and what was measured on the way."""
