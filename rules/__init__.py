"""The built-in rules, one module each, by family."""
