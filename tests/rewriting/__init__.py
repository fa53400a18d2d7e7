"""The measure of the analysis: fixtures rewritten without changing their meaning must give the same findings."""
