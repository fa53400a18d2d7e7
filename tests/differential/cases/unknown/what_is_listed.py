import json
import os
import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
b = sys.argv[2]
names = os.listdir(os.path.dirname(os.__file__))[:3]
if b == "on":
    [checkpoint(block, 1, use_reentrant="kept") for name in names if a != "x"]  # 'kept'
    {name: checkpoint(block, 1, use_reentrant="table") for name in names if a == "y"}  # 'table'
[checkpoint(block, 1, use_reentrant="either") for name in names if a == "x" or a == "y"]  # 'either'
[checkpoint(block, 1, use_reentrant=part) for name in names for part in ("p", "q")]  # 'p', 'q'
[checkpoint(block, 1, use_reentrant=part) for part in ("p", "q") for name in names]  # 'p', 'q'
[checkpoint(block, 1, use_reentrant=part) for part in ("p", "q") if a == "x" for name in names]  # 'p', 'q'
[checkpoint(block, 1, use_reentrant=part) for part in ("p", "q") for name in names if a == "x"]  # 'p', 'q'
[checkpoint(block, 1, use_reentrant=inner) for outer in (["p"], ["q"]) for inner in outer]  # 'p', 'q'
checkpoint(block, 1, use_reentrant=["q" for name in names if name != a][0])  # 'q'
for key, value in {name: "s" for name in names}.items():
    checkpoint(block, 1, use_reentrant=value)  # 's'
for value in {name: "s" for name in names}.values():
    checkpoint(block, 1, use_reentrant=value)  # 's'
for value in {name: "s" for name in names}:
    checkpoint(block, 1, use_reentrant=value == "t")  # False, True
checkpoint(block, 1, use_reentrant={name: "s" for name in names}[names[0]])  # ?
table = {"k": 1}
table[names[0]] = 2
for key, value in table.items():
    checkpoint(block, 1, use_reentrant=value)  # 1, 2
checkpoint(block, 1, use_reentrant=len(table))  # ?
for key, value in os.environ.items():
    checkpoint(block, 1, use_reentrant=value)  # ?
for part in map(lambda name: "u", names):
    checkpoint(block, 1, use_reentrant=part)  # 'u'
for part in map(lambda one, other: other, names, ["v"]):
    checkpoint(block, 1, use_reentrant=part)  # ?
for part, other in zip(names, ["w"]):
    checkpoint(block, 1, use_reentrant=part)  # ?
    checkpoint(block, 1, use_reentrant=other)  # 'w'
for place, name in enumerate(names):
    checkpoint(block, 1, use_reentrant=place)  # ?
held = ["p", "q"]
if a == "x":
    held.append("r")
checkpoint(block, 1, use_reentrant=held[-1:][0])  # 'q', 'r'
checkpoint(block, 1, use_reentrant=held[:1][0])  # 'p'
checkpoint(block, 1, use_reentrant=len(held[1:]))  # 1, 2
for part in held[1:]:
    checkpoint(block, 1, use_reentrant=part)  # 'q', 'r'
for part, other in zip(held, ["p", "q", "r"]):
    checkpoint(block, 1, use_reentrant=part)  # 'p', 'q', 'r'
seen = ["a"]
if a == "x":
    seen.append("b")
checkpoint(block, 1, use_reentrant=seen == ["a"])  # False, True
checkpoint(block, 1, use_reentrant=seen == ("a",))  # False, True
checkpoint(block, 1, use_reentrant={"a": 1} == {"a": 1})  # False, True
checkpoint(block, 1, use_reentrant=[1] == {"a": 1})  # False, True
checkpoint(block, 1, use_reentrant={"p": "r"} == seen)  # False, True
for part in map(*os.environ.values()) if b == "neither" else ["r"]:
    checkpoint(block, 1, use_reentrant=part)  # 'r', ?
[checkpoint(block, 1, use_reentrant=part) for name in names for part in ("p",) for other in ("q",)]  # 'p'
for key in {name: "s" for name in names}.keys():
    checkpoint(block, 1, use_reentrant=key == "t")  # False, True
checkpoint(block, 1, use_reentrant=len(table.items()))  # ?
checkpoint(block, 1, use_reentrant=len(list(map(str.upper, names))))  # ?


class Settings:
    pass


settings = Settings()
settings.mode = "set"
for key, value in {name + "_": 1 for name in names}.items():
    setattr(settings, key, value)
checkpoint(block, 1, use_reentrant=settings.mode)  # 'set', ?
others = Settings()
others.mode = "set"
for key, value in json.loads(os.environ.get("SETTINGS", "{}")).items():
    setattr(others, key, value)
checkpoint(block, 1, use_reentrant=others.mode)  # 'set', ?
checkpoint(block, 1, use_reentrant=table.get("other", "none"))  # 'none', 2
checkpoint(block, 1, use_reentrant=table.get("k", "none"))  # 1, 2
checkpoint(block, 1, use_reentrant=held[::-1][0])  # 'q', 'r'
checkpoint(block, 1, use_reentrant=held[::2][1:])  # ?
for part in held[::2]:
    checkpoint(block, 1, use_reentrant=part)  # 'p', 'r'
if b == "on":
    held.pop(0)
for part in held[-2:]:
    checkpoint(block, 1, use_reentrant=part)  # 'p', 'q', 'r'
checkpoint(block, 1, use_reentrant=held[-2:][0])  # 'p', 'q'
checkpoint(block, 1, use_reentrant=held[::2][0])  # 'p', 'q'
checkpoint(block, 1, use_reentrant=len(held[::2]))  # 1, 2
many = []
for name in ["A", "B", "C", "D", "E"]:
    if os.environ.get(name) != "no":
        many.append(name)
checkpoint(block, 1, use_reentrant=many[:2][0])  # ?
checkpoint(block, 1, use_reentrant=len(many[:2]))  # ?
for part in many[1:]:
    checkpoint(block, 1, use_reentrant=part)  # ?
