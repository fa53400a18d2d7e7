import sys
from enum import Enum, IntEnum

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
b = sys.argv[2]
KNOWN = {}


class Base:
    pass


class Kind(str, Enum):
    FIRST = "x"
    SECOND = "y"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


def register(name):
    def keep(owner):
        assert issubclass(owner, Base)
        assert not issubclass(Base, owner)
        if name in KNOWN:
            raise KeyError(name)
        KNOWN[name] = owner
        return owner

    return keep


@register("n0")
class C0(Base):
    held = 0


@register("n1")
class C1(Base):
    held = 1


@register("n2")
class C2(Base):
    held = 2


@register("n3")
class C3(Base):
    held = 3


@register("n4")
class C4(Base):
    held = 4


@register("n5")
class C5(Base):
    held = 5


@register("n6")
class C6(Base):
    held = 6


@register("n7")
class C7(Base):
    held = 7


@register("n8")
class C8(Base):
    held = 8


@register("n9")
class C9(Base):
    held = 9


@register("n10")
class C10(Base):
    held = 10


@register("n11")
class C11(Base):
    held = 11


@register("n12")
class C12(Base):
    held = 12


@register("n13")
class C13(Base):
    held = 13


@register("n14")
class C14(Base):
    held = 14


@register("n15")
class C15(Base):
    held = 15


@register("n16")
class C16(Base):
    held = 16


@register("n17")
class C17(Base):
    held = 17


@register("n18")
class C18(Base):
    held = 18


@register("n19")
class C19(Base):
    held = 19


@register("n20")
class C20(Base):
    held = 20


@register("n21")
class C21(Base):
    held = 21


@register("n22")
class C22(Base):
    held = 22


@register("n23")
class C23(Base):
    held = 23


@register("n24")
class C24(Base):
    held = 24


@register("n25")
class C25(Base):
    held = 25


@register("n26")
class C26(Base):
    held = 26


@register("n27")
class C27(Base):
    held = 27


@register("n28")
class C28(Base):
    held = 28


@register("n29")
class C29(Base):
    held = 29


@register("n30")
class C30(Base):
    held = 30


@register("n31")
class C31(Base):
    held = 31


@register("n32")
class C32(Base):
    held = 32


@register("n33")
class C33(Base):
    held = 33


@register("n34")
class C34(Base):
    held = 34


@register("n35")
class C35(Base):
    held = 35


@register("n36")
class C36(Base):
    held = 36


@register("n37")
class C37(Base):
    held = 37


@register("n38")
class C38(Base):
    held = 38


@register("n39")
class C39(Base):
    held = 39


@register("n40")
class C40(Base):
    held = 40


@register("n41")
class C41(Base):
    held = 41


@register("n42")
class C42(Base):
    held = 42


@register("n43")
class C43(Base):
    held = 43


@register("n44")
class C44(Base):
    held = 44


@register("n45")
class C45(Base):
    held = 45


@register("n46")
class C46(Base):
    held = 46


@register("n47")
class C47(Base):
    held = 47


@register("n48")
class C48(Base):
    held = 48


@register("n49")
class C49(Base):
    held = 49


@register("n50")
class C50(Base):
    held = 50


@register("n51")
class C51(Base):
    held = 51


@register("n52")
class C52(Base):
    held = 52


@register("n53")
class C53(Base):
    held = 53


@register("n54")
class C54(Base):
    held = 54


@register("n55")
class C55(Base):
    held = 55


@register("n56")
class C56(Base):
    held = 56


@register("n57")
class C57(Base):
    held = 57


@register("n58")
class C58(Base):
    held = 58


@register("n59")
class C59(Base):
    held = 59


checkpoint(block, 1, use_reentrant="n59" in KNOWN)
checkpoint(block, 1, use_reentrant="n60" in KNOWN)
checkpoint(block, 1, use_reentrant=KNOWN["n41"].held)
checkpoint(block, 1, use_reentrant=Level(2) == Level.HIGH)
checkpoint(block, 1, use_reentrant=Kind("y").value)
checkpoint(block, 1, use_reentrant=isinstance(KNOWN, dict) and not isinstance([], dict))
if a in ("x", "y"):
    kind = Kind(a)
    if kind == Kind.FIRST:
        checkpoint(block, 1, use_reentrant="the first")
    elif kind in (Kind.SECOND,):
        checkpoint(block, 1, use_reentrant="the second")
    else:
        raise ValueError(a)
