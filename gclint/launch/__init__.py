"""How a project's programs are started: processes, environment and arguments, read from its launchers."""

from gclint.launch.console import Command, commands
from gclint.launch.launched import Launch, Setting
from gclint.launch.project import image_environment, launches, launches_of

__all__ = ["Command", "Launch", "Setting", "commands", "image_environment", "launches", "launches_of"]
