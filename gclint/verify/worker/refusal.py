"""The machinery's own refusal, kept apart from what a run raises."""


class NotRun(Exception):
    """This cannot be run here: the text says why."""
