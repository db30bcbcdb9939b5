"""Reports about a run beside its items: JSON log, metrics and closing record."""
