"""Random shape texts: legal ones from the grammar, broken ones by mutation.

A text is made as a list of tokens, so that blanks and comments may go between
any two of them and mutations may take, double, swap or replace whole ones.
"""

import random

TYPES = (
    "pred s1 s2 s4 s8 s16 s32 s64 u1 u2 u4 u8 u16 u32 u64 f16 bf16 f32 f64 "
    "f8e5m2 f8e4m3 f8e4m3fn f8e4m3b11fnuz f8e3m4 f8e5m2fnuz f8e4m3fnuz "
    "f8e8m0fnu f4e2m1fn c64 c128"
).split()

# Numbers at which something changes, for mutations.
EDGES = [
    *range(-3, 4), 127, 128, 129, 255, 256, 2**31, 2**32, 2**62, 2**63 - 1,
    2**63, 2**64 - 1, 2**64, 2**65, -(2**63), -(2**63) - 1,
]  # fmt: skip
PIECES = (
    "( ) [ ] { } , : * ? # <= < = T L E S SC M D P PD PV B b - + ~ f32 token "
    "opaque tuple F32 f33 1e3 1.5 2x2 2_3 00 01 zero () {} {0} {1,0} [] /* */ // _"
).split()
CHARACTERS = "0123456789-,:()[]{}*?<=#TLESCMDPVBb+~ \t/_.xef%"


class ShapeTexts:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def chance(self, probability):
        return self.rng.random() < probability

    # Legal texts, as lists of tokens.

    def shape(self, depth=0):
        kind = self.rng.random()
        if depth < 3 and kind < 0.12:
            return self.tuple(depth)
        if kind < 0.14:
            return [self.rng.choice(["token", "opaque"]), "[", "]"]
        if kind < 0.17:
            return ["b", "(", *self.array(), ")"]
        return self.array()

    def tuple(self, depth):
        count = self.rng.choice([0, 1, 2, 3, 7, 12])
        return ["(", *self.commas([self.shape(depth + 1) for _ in range(count)]), ")"]

    @staticmethod
    def commas(elements):
        tokens = []
        for i, element in enumerate(elements):
            tokens += ([","] if i else []) + element
        return tokens

    def array(self):
        rank = self.rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 9])
        dims = [self.dimension() for _ in range(rank)]
        tokens = [self.rng.choice(TYPES), "[", *self.commas(dims), "]"]
        return tokens + (self.layout(rank) if self.chance(0.85) else [])

    def dimension(self):
        size = str(self.rng.choice([0, 1, 2, 3, 5, 8, 100, 128, 129, 4096]))
        if self.chance(0.1):
            return ["<=", size]
        return ["?"] if self.chance(0.05) else [size]

    def layout(self, rank):
        order = list(range(rank))
        self.rng.shuffle(order)
        keys = self.keys(rank)
        if rank == 0 and not keys:
            return []
        colon = [":", *keys] if keys else []
        return ["{", *self.commas([[str(dim)] for dim in order]), *colon, "}"]

    def keys(self, rank):
        tokens = []
        if self.chance(0.05):
            tokens += ["D", "(", *self.commas(self.levels(rank)), ")"]
        if self.chance(0.6):
            tokens += ["T"]
            for _ in range(self.rng.choice([1, 1, 2, 3, 4])):
                tokens += self.tile()
        for key, values in (
            ("L", [1, 2, 128, 1024]),
            ("E", [0, 1, 2, 4, 8, 16, 32, 33]),
            ("S", [0, 1, 2, 5, 127]),
        ):
            if self.chance(0.2):
                tokens += [key, "(", str(self.rng.choice(values)), ")"]
        if rank and self.chance(0.1):
            tokens += ["SC"]
            for _ in range(self.rng.choice([1, 1, 2])):
                tokens += self.split(rank)
        if self.chance(0.1):
            tokens += ["M", "(", str(self.rng.choice([0, 1, 8, 4096])), ")"]
        return tokens

    def levels(self, rank):
        return [
            [self.rng.choice("DCSH")]
            + (["+"] if self.chance(0.2) else [])
            + (["~"] if self.chance(0.2) else [])
            for _ in range(rank)
        ]

    def tile(self):
        count = self.rng.choice([1, 1, 2, 2, 2, 3, 5])
        sizes = [
            "*" if self.chance(0.15) else str(self.rng.choice([1, 2, 3, 8, 128, 1000]))
            for _ in range(count - 1)
        ]
        sizes.append(str(self.rng.choice([1, 2, 4, 7, 128])))
        return ["(", *self.commas([[size] for size in sizes]), ")"]

    def split(self, rank):
        indices = sorted(self.rng.sample(range(1, 50), self.rng.choice([0, 1, 1, 2, 4])))
        return [
            "(", str(self.rng.randrange(rank)), ":",
            *self.commas([[str(index)] for index in indices]), ")",
        ]  # fmt: skip

    # Tokens to texts.

    def join(self, tokens):
        """The text, every third time with blanks and comments in it."""
        if not self.chance(0.3):
            return "".join(tokens)
        blanks = ["", "", "", " ", "  ", "\t", "/*c*/", "/* index=5 */", "/***/"]
        text = "".join(self.rng.choice(blanks) + token for token in tokens)
        return text + self.rng.choice(["", "", " ", "// end", "/* end */"])

    # Mutations.

    def mutate_tokens(self, tokens):
        tokens = list(tokens)
        at = self.rng.randrange(len(tokens))
        numbers = [i for i, token in enumerate(tokens) if token.isdigit()]
        action = self.rng.randrange(7)
        if action <= 2 and numbers:
            tokens[self.rng.choice(numbers)] = str(self.rng.choice(EDGES))
        elif action == 3:
            del tokens[at]
        elif action == 4:
            tokens.insert(at, self.rng.choice(tokens + PIECES))
        elif action == 5:
            other = self.rng.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        else:
            tokens[at] = self.rng.choice(PIECES)
        return tokens or ["f32"]

    def mutate_characters(self, text):
        at = self.rng.randrange(len(text) + 1)
        action = self.rng.randrange(4)
        new = self.rng.choice(CHARACTERS)
        if action == 0:
            return text[:at] + text[at + 1 :]
        if action == 1:
            return text[:at] + new + text[at + 1 :]
        if action == 2:
            return text[:at] + new + text[at:]
        return text[:at]

    def legal(self):
        return self.join(self.shape())

    def broken(self):
        """A legal text with one to three mutations, of which some stay legal."""
        tokens = self.shape()
        for _ in range(self.rng.choice([0, 1, 1, 1, 2, 3])):
            tokens = self.mutate_tokens(tokens)
        text = self.join(tokens)
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            text = self.mutate_characters(text)
        return text
