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
        f'    {name}) words="{" ".join(flag for flag, _, _ in _flags(parser))}" ;;' for name, parser in commands.items()
    )
    values = "\n".join(
        f'    {"|".join(flags)}) COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$current")); return ;;'
        for flags, words in _valued(commands).items()
    )
    return f"""\
# eval "$(gclint completion bash)"
_gclint() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  COMPREPLY=()
  case "$before" in
{values}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(commands)} --help --version" -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    *) COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
}}
complete -o filenames -F _gclint gclint
"""


def _zsh() -> str:
    commands = _commands()
    described = "\n".join(f"    {_zsh_quoted(f'{name}:{_about(parser)}')}" for name, parser in commands.items())
    cases = []
    for name, parser in commands.items():
        specs = " \\\n      ".join(_zsh_quoted(_zsh_spec(*flag)) for flag in _flags(parser))
        cases.append(f"    {name})\n      _arguments \\\n      {specs} \\\n      '*:file:_files' ;;")
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
        for flag, text, choices in _flags(parser):
            values = f" -x -a {_fish_quoted(' '.join(choices))}" if choices else ""
            option = f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
            seen = f"-n '__fish_seen_subcommand_from {name}'"
            lines.append(f"complete -c gclint {seen} {option}{values} -d {_fish_quoted(text)}")
    return "\n".join(lines) + "\n"


def _commands() -> dict[str, Parser]:
    return build()[1]


def _about(parser: Parser) -> str:
    return (parser.description or "").rstrip(".")


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
        from gclint.rule import load_rules

        codes = [rule.code for rule in load_rules()]
        return ("ALL", *dict.fromkeys(code[:4] for code in codes), *codes)
    return tuple(str(choice) for choice in action.choices or ())


def _valued(commands: dict[str, Parser]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """The options that take known words, those of the same words together."""
    by_words: dict[tuple[str, ...], list[str]] = {}
    for parser in commands.values():
        for flag, _, words in _flags(parser):
            if words and flag not in by_words.setdefault(words, []):
                by_words[words].append(flag)
    return {tuple(flags): words for words, flags in by_words.items()}


def _zsh_spec(flag: str, text: str, choices: tuple[str, ...]) -> str:
    plain = text.replace("[", "(").replace("]", ")").replace(":", "\\:")
    values = f":value:({' '.join(choices)})" if choices else ""
    return f"{flag}[{plain}]{values}"


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
