"""Everything a person sees: command line, figures, page and reports, all folds of the log."""
