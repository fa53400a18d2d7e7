import sys

from torch.utils.checkpoint import checkpoint


def block(x):
    return x


a = sys.argv[1]
b = sys.argv[2]
f1 = lambda v: v
f2 = lambda v: f1(v)
f3 = lambda v: f2(v)
f4 = lambda v: f3(v)
f5 = lambda v: f4(v)
f6 = lambda v: f5(v)
f7 = lambda v: f6(v)
f8 = lambda v: f7(v)
f9 = lambda v: f8(v)
f10 = lambda v: f9(v)
f11 = lambda v: f10(v)
f12 = lambda v: f11(v)
f13 = lambda v: f12(v)
f14 = lambda v: f13(v)
f15 = lambda v: f14(v)
f16 = lambda v: f15(v)
f17 = lambda v: f16(v)
f18 = lambda v: f17(v)
f19 = lambda v: f18(v)
f20 = lambda v: f19(v)
f21 = lambda v: f20(v)
f22 = lambda v: f21(v)
f23 = lambda v: f22(v)
f24 = lambda v: f23(v)
checkpoint(block, 1, use_reentrant=f24("deep"))
count = 0
for number in range(64):
    count += number
checkpoint(block, 1, use_reentrant=count)
checkpoint(block, 1, use_reentrant=[number for number in range(64)][63])
checkpoint(
    block,
    1,
    use_reentrant=a
    in [
        "w0",
        "w1",
        "w2",
        "w3",
        "w4",
        "w5",
        "w6",
        "w7",
        "w8",
        "w9",
        "w10",
        "w11",
        "w12",
        "w13",
        "w14",
        "w15",
        "w16",
        "w17",
        "w18",
        "w19",
        "w20",
        "w21",
        "w22",
        "w23",
        "w24",
        "w25",
        "w26",
        "w27",
        "w28",
        "w29",
        "w30",
        "w31",
        "w32",
        "w33",
        "w34",
        "w35",
        "w36",
        "w37",
        "w38",
        "z",
    ],
)
table = {"w0": 0, "w1": 1, "w2": 2, "w3": 3, "w4": 4, "w5": 5, "w6": 6, "w7": 7, "w8": 8, "x": 9, "y": 10, "z": 11}
checkpoint(block, 1, use_reentrant=table[a])
checkpoint(block, 1, use_reentrant=len([0] * 24))
checkpoint(block, 1, use_reentrant=list(reversed(list(enumerate(range(64)))))[0][1])
checkpoint(block, 1, use_reentrant=sorted(list(range(64)))[63])
if a == "w0":
    mode = 0
elif a == "w1":
    mode = 1
elif a == "w2":
    mode = 2
elif a == "w3":
    mode = 3
elif a == "w4":
    mode = 4
elif a == "w5":
    mode = 5
elif a == "w6":
    mode = 6
elif a == "w7":
    mode = 7
elif a == "w8":
    mode = 8
elif a == "y":
    mode = 9
elif a == "x":
    mode = 10
else:
    mode = "rest"
checkpoint(block, 1, use_reentrant=mode)
one = 1 if a == "x" else 2 if a == "y" else 3 if a == "z" else 4
two = 1 if b == "on" else 2 if b == "off" else 3
three = 1 if a != "z" else 2
checkpoint(block, 1, use_reentrant=f"{one}{two}{three}")
checkpoint(block, 1, use_reentrant="x" * 64)
checkpoint(block, 1, use_reentrant=sum([one for one, other in zip(range(64), range(64))]))
