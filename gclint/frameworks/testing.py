"""pytest: what ends a test. `pytest.skip`, `fail`, `xfail` and `exit` raise (pytest 9.2, _pytest/outcomes.py)."""

from __future__ import annotations

from ..run.calls import Call
from ..run.jumps import RAISE, leave
from ..run.values import NOTHING, External, Value, of
from .registry import Framework

framework = Framework("testing")


@framework.function("pytest.skip", "pytest.fail", "pytest.xfail", "pytest.exit")
def end_test(call: Call) -> Value:
    """The test ends here."""
    leave(call.it, RAISE, of(External(f"{call.name}.Exception")), unsaid=True)
    return NOTHING
