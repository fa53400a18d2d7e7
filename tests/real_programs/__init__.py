"""Strangers' training programs, each with a failure planted or of its own, proved by `gclint fix --verify=program`.

Every `programs*.yaml` of this folder is a list of rows. A row has

- `name`: what `--only` takes; unique over all files;
- `repository`: OWNER/NAME, looked for as DIR/OWNER+NAME below `--checkouts DIR`; or `package` (and `version`): the
  import name of an installed package that holds the program;
- `commit`: the revision that the row was written against;
- `copy`: files, folders or globs of the repository that are the project (default: all of it), relative to its root;
- `program`: the command line as its user would give it, relative to the project, for `--program`;
- `processes`: for `--nproc` (default 1: not given);
- `steps`: for `--steps`, where the failure comes after more steps than a run is given (default: not given);
- `failure`: in words, what is wrong; `code`: the rule that is due (or several: `CODE,CODE`, where the program runs
  only without all of them); `choose`: a fix by name (`CODE=NAME`); rows of `tests/knowledge/programs.yaml` have none;
- `plant`: the edits that make it so, a list of `file`, `find` (a regular expression, multi-line, that matches
  exactly once: begin it at a line's start) and either `replace`, or lines to put `above` or `below`, which get the
  indentation of the line that was found; none where the program has the failure already
  (`programs_as_they_are.yaml`);
- `also`: files that a user has and the repository has not (a path and its text), such as a data sample;
- `prepare`: what a README says to run once before, such as building an extension, for `sh` in the project;
- `verdict`: the one that is right, and `why` where that is not `confirmed`.

`python -m tests.real_programs --checkouts DIR [--only NAME] [--json FILE] [--markdown FILE]` runs them and prints the
table; `--markdown docs/real-programs.md` writes the page of the planted ones, `--evidence docs/evidence.md` that of
the others. Evidence is
`program` where the run after the edit took its optimizer steps; the run before either fails or takes its own.
None of the programs' code is held here.
"""
