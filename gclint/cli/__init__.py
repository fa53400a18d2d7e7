"""The command line. Importing this module imports nothing else: `gclint --version` must be quick."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

EXIT_CLEAN, EXIT_FINDINGS, EXIT_ERROR, EXIT_INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command in `argv` (default: of this process) and return its exit status.

    0: nothing found, or, as in Ruff, whoever read standard output has gone (`| head -1`); 1: findings are
    left; 2: something could not be done, said in one line on standard error; 130: interrupted.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if "--traceback" in arguments:
        arguments.remove("--traceback")
        os.environ["GCLINT_TRACEBACK"] = "1"
    try:
        _with_streams()
        status = _run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        _say_no_more()
        return EXIT_CLEAN
    except (Exception, KeyboardInterrupt) as error:
        if _of_interrupt(error):
            print("gclint: interrupted", file=sys.stderr)
            return EXIT_INTERRUPTED
        if os.environ.get("GCLINT_TRACEBACK"):
            raise
        complain(_of_system(error) if isinstance(error, OSError) and error.strerror else _internal(error))
        return EXIT_ERROR


def _run(arguments: list[str]) -> int:
    if arguments in (["--version"], ["-V"]):
        from gclint import __version__

        print(f"gclint {__version__}")
        return EXIT_CLEAN
    from gclint.cli.run import run

    return run(arguments)


def _with_streams() -> None:
    """Write to nowhere what a process without standard output or error, as `>&-` starts it, has to say."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


def _say_no_more() -> None:
    """Send the rest of standard output nowhere, that Python may flush it at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def start() -> NoReturn:
    """Run this process's command and end the process with its status.

    After a check it ends at once: freeing what the analysis made takes longer than all else that is left to do.
    """
    checks = sys.argv[1:2] == ["check"]
    if checks:
        from gclint.check.garbage import collect_rarely

        collect_rarely()
    status = main()
    if checks:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def complain(text: str) -> None:
    """Print one line on standard error."""
    from gclint.report.escape import printable

    print(f"gclint: error: {printable(text)}", file=sys.stderr)


def _of_interrupt(error: BaseException | None) -> bool:
    """Whether an error comes of Ctrl-C: Python 3.11 makes a RuntimeError of one that meets a class being made."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _of_system(error: OSError) -> str:
    """What the system refused; an error of writing standard output, and of a directory that is gone, names no file."""
    if error.filename is None and _is_nowhere():
        return "the working directory is gone; change to another one"
    if error.filename is None:
        _say_no_more()
        return f"standard output cannot be written ({error.strerror})"
    return f"{os.fsdecode(error.filename)}: {error.strerror}; --traceback shows what was being done"


def _is_nowhere() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def said_of(error: Exception) -> str:
    """Return one line about an error that no command foresees."""
    return _of_system(error) if isinstance(error, OSError) and error.filename is not None else _internal(error)


def _internal(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "an unknown place"
    what = f"{type(error).__name__}: {error}"
    return f"internal error, {what} (at {place}); --traceback shows the way there; please report it"
