"""What the analysis knows of real programs: the run that it derives, held to the run that is observed.

Each program is rehearsed (`gclint.rehearse`), which records what happens, with the line of the user's code, and is
analysed as it was started. A *fact* is something that happens at a line: an optimizer of this class is built, a batch
is taken of a loader of this size, a model is called in this mode. Of each observed fact the derived run says

- *same*: it happens there, with the same values;
- *open*: it happens there, with these values among others, or under a condition that is not decided;
- *unknown*: it happens there, and nobody knows a value of it;
- *missed*: nothing of the kind happens there;
- *contradicted*: it happens there, with other values.

The share of facts that are the same is how much is known. What is derived and not observed is counted beside: a small
run ends before most of it.

The programs are those of `tests.real_programs`, without what is planted there, and those of `programs.yaml` here: its
rows hold the same, but no failure and no rule.

    python -m tests.knowledge --checkouts DIR --json FILE --markdown docs/knowledge.md
"""
