"""`gclint completion`: scripts with which bash, zsh and fish complete commands, options and codes."""

from __future__ import annotations

import argparse
from argparse import Namespace
from dataclasses import dataclass

from gclint.cli import EXIT_CLEAN
from gclint.cli.parser import Parser, build

_CODE_OPTIONS = frozenset({"--select", "--ignore", "--extend-select", "--fixable", "--unfixable"})
_TOP = "--help --version"


@dataclass(frozen=True)
class Flag:
    """An option of a command: what it does, and what it takes.

    `choices` are the words it takes where these are known, `listed` whether several are joined by commas.
    `value` says whether it takes one: "no", "yes", or "maybe" (only behind `=`).
    """

    name: str
    text: str
    value: str
    choices: tuple[str, ...] = ()
    listed: bool = False
    again: bool = False
    file: bool = False


def completion(options: Namespace) -> int:
    """Print the script for the shell that is asked for."""
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell](), end="")
    return EXIT_CLEAN


def _bash() -> str:
    commands = _commands()
    cases = "\n".join(
        f"    {name}) flags={_quoted(' '.join(flag.name for flag in _flags(parser)))} words={_quoted(_places(name))} ;;"
        for name, parser in commands.items()
    )
    values = "\n".join(
        f"    {' | '.join(_quoted(place) for place in places)}) values={_quoted(' '.join(words))} ;;"
        for places, words in _valued(commands).items()
    )
    return f"""\
# eval "$(gclint completion bash)"
_gclint() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[1]}}" flags="" words="" values="" done=""
  local previous="${{COMP_WORDS[COMP_CWORD-1]}}" behind=" ${{COMP_WORDS[*]:1:COMP_CWORD-1}} "
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(commands)} {_TOP}" -- "$current"))
    return
  fi
  if [[ "$command" == preflight && "$behind" == *" -- "* ]]; then
    if [ "$previous" = -- ]; then COMPREPLY=($(compgen -c -- "$current"))
    else COMPREPLY=($(compgen -f -- "$current"))
    fi
    return
  fi
  if [ "$current" = "=" ]; then previous="$previous=" current=""
  elif [ "$previous" = "=" ]; then previous="${{COMP_WORDS[COMP_CWORD-2]}}="
  fi
  case "$command $previous" in
{values}
  esac
  case "$command" in
{cases}
  esac
  if [[ "$current" == *,* ]]; then done="${{current%,*}},"; fi
  if [ -n "$values" ]; then COMPREPLY=($(compgen -P "$done" -W "$values" -- "${{current##*,}}"))
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
        specs = " \\\n      ".join(_quoted(_zsh_spec(flag)) for flag in _flags(parser))
        cases.append(f"    {name})\n      _arguments -S \\\n      {specs} \\\n      {_quoted(_zsh_rest(name))} ;;")
    return f"""\
#compdef gclint
# eval "$(gclint completion zsh)"
_gclint() {{
  local -a subcommands=(
{described}
  )
  if (( CURRENT == 2 )); then
    _describe command subcommands
    compadd -- {_TOP}
    return
  fi
  local chosen=$words[2]
  shift words
  (( CURRENT-- ))
  if [[ $chosen == preflight && ${{words[(i)--]}} -lt $CURRENT ]]; then
    local start=${{words[(i)--]}}
    shift $start words
    (( CURRENT -= start ))
    _normal
    return
  fi
  case $chosen in
{chr(10).join(cases)}
  esac
}}
compdef _gclint gclint
"""


def _fish() -> str:
    commands = _commands()
    lines = ["# gclint completion fish | source", "complete -c gclint -e"]
    lines += [f"complete -c gclint -n __fish_use_subcommand -f -l {flag[2:]}" for flag in _TOP.split()]
    for name, parser in commands.items():
        about = _fish_quoted(_about(parser))
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        lines.append(f"complete -c gclint -n __fish_use_subcommand -f -a {name} -d {about}")
        if _places(name):
            lines.append(f"complete -c gclint {seen} -f -a {_fish_quoted(_places(name))}")
        for flag in _flags(parser):
            option = f"-l {flag.name[2:]}" if flag.name.startswith("--") else f"-s {flag.name[1:]}"
            lines.append(f"complete -c gclint {seen} {option}{_fish_value(flag)} -d {_fish_quoted(flag.text)}")
    behind = "'__fish_seen_subcommand_from preflight; and contains -- -- (commandline -opc)'"
    rest = """'(complete -C (commandline -cp | string replace -r "^.*? -- +" ""))'"""
    return "\n".join([*lines, f"complete -c gclint -n {behind} -f -a {rest}"]) + "\n"


def _fish_value(flag: Flag) -> str:
    if flag.listed:
        several = f"(__fish_append , {' '.join(flag.choices)})"
        return f" -x -a {_fish_quoted(several)}"
    if flag.choices:
        given = "" if flag.value == "maybe" else "-x "
        return f" {given}-a {_fish_quoted(' '.join(flag.choices))}"
    return {"yes": " -r" if flag.file else " -x"}.get(flag.value, "")


def _commands() -> dict[str, Parser]:
    return build()[1]


def _about(parser: Parser) -> str:
    return (parser.description or "").partition("\n")[0].rstrip(".")


def _flags(parser: Parser) -> list[Flag]:
    """The options of a command that its help shows."""
    return [
        _flag(name, action)
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        for name in action.option_strings
    ]


def _flag(name: str, action: argparse.Action) -> Flag:
    value = "no" if action.nargs == 0 else "maybe" if action.nargs == "?" else "yes"
    listed = name in _CODE_OPTIONS
    choices = _selectors() if listed else tuple(str(choice) for choice in action.choices or ())
    again = isinstance(action, argparse._AppendAction)
    return Flag(name, action.help or "", value, choices, listed, again, action.metavar in ("FILE", "PATH"))


def _selectors() -> tuple[str, ...]:
    codes = _codes()
    return ("ALL", *dict.fromkeys(code[:4] for code in codes), *codes)


def _valued(commands: dict[str, Parser]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Known words, by the commands and options that take them, as in `check --select` and `check --select=`."""
    by_words: dict[tuple[str, ...], list[str]] = {}
    for name, parser in commands.items():
        for flag in _flags(parser):
            if flag.choices:
                places = [f"{name} {flag.name}{sign}" for sign in ("", "=") if sign or flag.value == "yes"]
                by_words.setdefault(flag.choices, []).extend(places)
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


def _zsh_spec(flag: Flag) -> str:
    plain = flag.text.replace("[", "(").replace("]", ")").replace(":", "\\:")
    words = " ".join(flag.choices)
    action = f"_sequence compadd - {words}" if flag.listed else f"({words})" if words else "_files" * flag.file
    name = flag.name + {"no": "", "yes": "=" * flag.name.startswith("--"), "maybe": "=-"}[flag.value]
    value = {"no": "", "yes": f":value:{action}", "maybe": f"::value:{action}"}[flag.value]
    return f"{'*' * flag.again}{name}[{plain}]{value}"


def _zsh_rest(name: str) -> str:
    words = _places(name)
    return f"*:word:({words})" if words else "*:file:_files"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
