import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
b = sys.argv[2]


class Own(ValueError):
    pass


class Other(Exception):
    pass


def risky():
    if a == "x":
        raise Own
    if a == "y":
        raise Other
    return "fine"


def outcome():
    try:
        made = risky()
    except ValueError:
        made = "value"
    except Exception:
        if b == "on":
            raise
        made = "other"
    else:
        made = "else"
    finally:
        checkpoint(block, 1, use_reentrant="finally")
    return made


try:
    checkpoint(block, 1, use_reentrant=outcome())
except KeyError:
    checkpoint(block, 1, use_reentrant="never")
except (TypeError, Other):
    checkpoint(block, 1, use_reentrant="through")


def left_early():
    for number in range(3):
        try:
            if number == 1 and a == "z":
                return number
            if number == 1:
                continue
            checkpoint(block, 1, use_reentrant=number)
        finally:
            checkpoint(block, 1, use_reentrant="each")
    return "end"


checkpoint(block, 1, use_reentrant=left_early())
try:
    assert a != "y", "not y"
    [].pop()
except AssertionError:
    checkpoint(block, 1, use_reentrant="asserted")
except IndexError:
    checkpoint(block, 1, use_reentrant="index")
try:
    {"x": 1}[a]
except LookupError:
    checkpoint(block, 1, use_reentrant="lookup")
except:
    checkpoint(block, 1, use_reentrant="never")
else:
    checkpoint(block, 1, use_reentrant="found")
