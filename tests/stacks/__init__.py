"""Every rule against several stacks of releases: what holds, what does not apply, what cannot run."""
