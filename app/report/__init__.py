"""Reports to take away: files that open without galloscope."""
