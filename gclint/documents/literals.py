"""Literals as documents spell them; None for what a kind cannot hold."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_TOML_KEY = re.compile(r"[\w-]+", re.ASCII)
_BOOLEANS = (("true", "false"), ("yes", "no"), ("on", "off"))


def spelled(kind: str, value: Any, like: str = "") -> str | None:
    """A value as text on one line, in a document of this kind; booleans in the words of the text they replace."""
    if not _is_plain(value):
        return None
    return _SPELLING[kind](value, like)


def key_spelled(kind: str, name: str, like: str = "") -> str:
    """A key as text, quoted as the key `like` is."""
    if kind == "json":
        return json.dumps(name, ensure_ascii=False)
    if like[:1] in ("'", '"') and like[:1] == like[-1:] and name.isidentifier():
        return f"{like[0]}{name}{like[0]}"
    if kind == "toml":
        return name if _TOML_KEY.fullmatch(name) else json.dumps(name, ensure_ascii=False)
    return _yaml_text(name)


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    finite = not isinstance(value, float) or math.isfinite(value)
    return (value is None or isinstance(value, (bool, int, float, str))) and finite


def _yaml(value: Any, like: str) -> str:
    if isinstance(value, bool):
        return _boolean(value, like)
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_yaml_text(key)}: {_yaml(item, '')}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_yaml(item, "") for item in value) + "]"
    if isinstance(value, str):
        return _yaml_text(value, like)
    text = repr(value)
    return text if "e" not in text or "." in text else text.replace("e", ".0e")


def _yaml_text(value: str, like: str = "") -> str:
    import yaml

    quoted = json.dumps(value, ensure_ascii=False)
    if like[:1] == "'" and "\n" not in value:
        return "'" + value.replace("'", "''") + "'"
    if like[:1] == '"' or not re.fullmatch(r"[\w./-][\w ./-]*", value) or value != value.strip():
        return quoted
    return value if yaml.safe_load(value) == value else quoted


def _boolean(value: bool, like: str) -> str:
    for words in _BOOLEANS:
        if like.lower() in words:
            word = words[0] if value else words[1]
            return word.upper() if like.isupper() else word.capitalize() if like[0].isupper() else word
    return "true" if value else "false"


def _json(value: Any, like: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _toml(value: Any, like: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, dict):
        pairs = [(key_spelled("toml", key), _toml(item, "")) for key, item in value.items()]
        if any(text is None for _, text in pairs):
            return None
        return "{ " + ", ".join(f"{key} = {text}" for key, text in pairs) + " }" if pairs else "{}"
    if isinstance(value, (list, tuple)):
        texts = [_toml(item, "") for item in value]
        return "[" + ", ".join(text for text in texts if text is not None) + "]" if None not in texts else None
    if isinstance(value, str) and like[:1] == "'" and not {"'", "\n"} & set(value):
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (bool, str)) else repr(value)


_SPELLING = {"yaml": _yaml, "json": _json, "toml": _toml}
