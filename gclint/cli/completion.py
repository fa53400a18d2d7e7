"""`gclint completion`: scripts with which bash, zsh and fish complete commands, options and codes."""

from __future__ import annotations

import argparse
from argparse import Namespace

from gclint.cli import EXIT_CLEAN
from gclint.cli.parser import Parser, build

_CODE_OPTIONS = frozenset({"--select", "--ignore", "--extend-select", "--fixable", "--unfixable"})


def completion(options: Namespace) -> int:
    """Print the script for the shell that is asked for."""
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell](), end="")
    return EXIT_CLEAN


def _bash() -> str:
    commands = _commands()
    cases = "\n".join(
        f"    {name}) flags={_quoted(' '.join(item[0] for item in _flags(parser)))} words={_quoted(_places(name))} ;;"
        for name, parser in commands.items()
    )
    values = "\n".join(
        f"    {' | '.join(_quoted(place) for place in places)}) values={_quoted(' '.join(words))} ;;"
        for places, words in _valued(commands).items()
    )
    return f"""\
# eval "$(gclint completion bash)"
_gclint() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[1]}}" flags="" words="" values=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(commands)} --help --version" -- "$current"))
    return
  fi
  case "$command ${{COMP_WORDS[COMP_CWORD-1]}}" in
{values}
  esac
  case "$command" in
{cases}
  esac
  if [ -n "$values" ]; then COMPREPLY=($(compgen -W "$values" -- "$current"))
  elif [[ "$current" == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$current"))
  elif [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$current"))
  else COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _gclint gclint
"""


def _zsh() -> str:
    commands = _commands()
    described = "\n".join(f"    {_quoted(f'{name}:{_about(parser)}')}" for name, parser in commands.items())
    cases = []
    for name, parser in commands.items():
        specs = " \\\n      ".join(_quoted(_zsh_spec(*flag)) for flag in _flags(parser))
        cases.append(f"    {name})\n      _arguments \\\n      {specs} \\\n      {_quoted(_zsh_rest(name))} ;;")
    return f"""\
#compdef gclint
# eval "$(gclint completion zsh)"
_gclint() {{
  local -a commands=(
{described}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local chosen=$words[2]
  shift words
  (( CURRENT-- ))
  case $chosen in
{chr(10).join(cases)}
  esac
}}
compdef _gclint gclint
"""


def _fish() -> str:
    commands = _commands()
    lines = ["# gclint completion fish | source", "complete -c gclint -e"]
    for name, parser in commands.items():
        about = _fish_quoted(_about(parser))
        lines.append(f"complete -c gclint -n __fish_use_subcommand -f -a {name} -d {about}")
        if _places(name):
            words = _fish_quoted(_places(name))
            lines.append(f"complete -c gclint -n '__fish_seen_subcommand_from {name}' -f -a {words}")
        for flag, text, choices in _flags(parser):
            values = f" -x -a {_fish_quoted(' '.join(choices))}" if choices else ""
            option = f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
            seen = f"-n '__fish_seen_subcommand_from {name}'"
            lines.append(f"complete -c gclint {seen} {option}{values} -d {_fish_quoted(text)}")
    return "\n".join(lines) + "\n"


def _commands() -> dict[str, Parser]:
    return build()[1]


def _about(parser: Parser) -> str:
    return (parser.description or "").partition("\n")[0].rstrip(".")


def _flags(parser: Parser) -> list[tuple[str, str, tuple[str, ...]]]:
    """The options of a command: name, what it does, and the words it takes where they are known."""
    found = []
    for action in parser._actions:
        if action.help != argparse.SUPPRESS:
            for flag in action.option_strings:
                found.append((flag, action.help or "", _choices(flag, action)))
    return found


def _choices(flag: str, action: argparse.Action) -> tuple[str, ...]:
    if flag in _CODE_OPTIONS:
        codes = _codes()
        return ("ALL", *dict.fromkeys(code[:4] for code in codes), *codes)
    return tuple(str(choice) for choice in action.choices or ())


def _valued(commands: dict[str, Parser]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Known words, by the commands and options that take them, as in `check --select`."""
    by_words: dict[tuple[str, ...], list[str]] = {}
    for name, parser in commands.items():
        for flag, _, words in _flags(parser):
            if words:
                by_words.setdefault(words, []).append(f"{name} {flag}")
    return {tuple(places): words for words, places in by_words.items()}


def _places(name: str) -> str:
    """The words that a command takes without an option, "" where these are files."""
    if name in ("rule", "prove"):
        return " ".join(_codes())
    if name == "config":
        from gclint.config import keys

        return " ".join(keys())
    return "bash zsh fish" if name == "completion" else ""


def _codes() -> list[str]:
    from gclint.rule import load_rules

    return [rule.code for rule in load_rules()]


def _zsh_spec(flag: str, text: str, choices: tuple[str, ...]) -> str:
    plain = text.replace("[", "(").replace("]", ")").replace(":", "\\:")
    values = f":value:({' '.join(choices)})" if choices else ""
    return f"{flag}[{plain}]{values}"


def _zsh_rest(name: str) -> str:
    words = _places(name)
    return f"*:word:({words})" if words else "*:file:_files"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
