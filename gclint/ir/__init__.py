"""What the texts of a project tell without being walked: syntax, outlines, imports, what can lead to a finding."""
