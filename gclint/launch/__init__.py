"""How a project's programs are started: processes, environment and arguments, read from its launchers."""

from gclint.launch.console import Command, console_scripts
from gclint.launch.launched import Launch, Setting
from gclint.launch.launchers import is_readme
from gclint.launch.project import image_environment, launches, launches_of

__all__ = [
    "Command",
    "Launch",
    "Setting",
    "console_scripts",
    "image_environment",
    "is_readme",
    "launches",
    "launches_of",
]
