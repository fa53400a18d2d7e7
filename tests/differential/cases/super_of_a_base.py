import sys

from torch.utils.checkpoint import checkpoint


class Root:
    def kind(self, x):
        return "root" + x


class Beside(Root):
    def kind(self, x):
        return "beside" + super().kind(x)


class Base(Root):
    def kind(self, x, more):
        return "base" + more + super().kind(x)


class Net(Base, Beside):
    def kind(self, x):
        return "net" + super(Base, self).kind(x)

    def whole(self, x):
        return super(Net, self).kind(x, "!")


def block(x):
    return x


a = sys.argv[1]
net = Net()
checkpoint(block, 1, use_reentrant=net.kind("1"))  # 'netbesideroot1'
checkpoint(block, 1, use_reentrant=net.whole("2"))  # 'base!besideroot2'
if a == "x":
    checkpoint(block, 1, use_reentrant=super(Beside, net).kind("3"))  # 'root3'
