"""One file per format that galloscope reads or writes."""
