"""What verification cannot do, as one error class with one clear line."""


class VerifyUnavailable(RuntimeError):
    """Nothing can be run here: the message says why, and what to install."""


MISSING_TORCH = "torch is not installed for {python}; run: pip install 'gclint[verify]'"
