"""Arguments and settings: parsed and validated into the configuration of a run."""
