"""Is what is saved the model, and what is loaded what was saved?"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.rehearse.record import Recording
from gclint.rehearse.seen import Seen, place


def ask(run: Recording) -> Iterator[Seen]:
    """Look at the state dicts of rank 0."""
    record = run.first
    for each in record.of("load"):
        if each["given"] and not each["matched"] and not each["strict"]:
            theirs, own = each["examples"]
            yield Seen(
                "GCS901",
                "nothing-loaded",
                f"load_state_dict of {each['module']} loads nothing",
                place(each["at"]),
                f"0 of {each['given']} tensors have a name of the model's: `{theirs}` there, `{own}` here",
                "mend the names (a prefix of a wrapper?), and load with strict=True",
            )
        elif each["step"] and each["matched"] and each["same"] == each["matched"]:
            yield Seen(
                "GCS902",
                "own-weights-loaded",
                f"{each['module']} is given back the weights it has",
                place(each["at"]),
                f"{each['same']} of {each['given']} tensors are the model's own storage; nothing is restored",
                "copy.deepcopy(model.state_dict()) when it is kept",
            )
    for each in record.of("save"):
        if each["empty"] and record.steps:
            yield Seen(
                "GCS903",
                "nothing-saved",
                f"{each['file'] or 'a state dict'} is saved with 0 tensors",
                place(each["at"]),
                "an empty state dict",
                "save the state dict of the model that was trained",
            )
