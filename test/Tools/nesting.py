# RUN: %python %s %t

"""No text is nested so deep that a tool ends by a signal, or takes long.

Every form that MLIR's grammar nests, as deep as it is parsed, deeper, and much
deeper than a stack holds.
"""

import json
import os
import subprocess
import sys

FOLDER = sys.argv[1]
LIMIT = 512
SECONDS = 20


def op(attribute):
    return f'"t.op"() {{a = {attribute}}} : () -> ()\n'


def affine(expression):
    return op(f"affine_map<(d0) -> ({expression})>")


# Each makes a text of `n` levels, and perhaps some more.
FORMS = {
    "array": lambda n: op("[" * n + "]" * n),
    "dictionary": lambda n: op("{a=" * n + "1" + "}" * n),
    "dense": lambda n: op("dense<" + "[" * n + "1" + "]" * n + "> : tensor<1xi32>"),
    "opaque": lambda n: op("#t.a" + "<" * n + ">" * n),
    "tuple": lambda n: op("tuple<" * n + "i32" + ">" * n),
    "tensor": lambda n: op("tensor<4x" * n + "f32" + ">" * n),
    "memref": lambda n: op("memref<4x" * n + "f32" + ">" * n),
    "complex": lambda n: op("complex<" * n + "f32" + ">" * n),
    "function": lambda n: op("() -> (" * n + "i32" + ")" * n),
    "encoding": lambda n: op("tensor<4xf32, [" * (n // 2) + "]>" * (n // 2)),
    "struct": lambda n: op("!llvm." + "struct<(" * (n // 2) + "i32" + ")>" * (n // 2)),
    "parentheses": lambda n: affine("(" * n + "d0" + ")" * n),
    "signs": lambda n: affine("- " * n + "d0"),
    "signs and comments": lambda n: affine("- // }\n" * n + "d0"),
    "product": lambda n: affine("3 * -" * n + "d0"),
    "sum": lambda n: affine("d0 mod 3 + " * n + "d0"),
    "set": lambda n: op("affine_set<(d0) : (" + "(" * n + "d0" + ")" * n + " >= 0)>"),
    "location": lambda n: '"t.op"() : () -> () loc(' + 'callsite("a" at ' * n + '"b"' + ")" * n + ")",
    "fused": lambda n: '"t.op"() : () -> () loc(' + "fused[" * n + '"b"' + "]" * n + ")",
    "region": lambda n: '"t.op"() ({' * (n // 2) + "}) : () -> ()" * (n // 2),
    "modules": lambda n: "module {" * n + "}" * n,
    "braces in comments": lambda n: "module { // }\n" * n + "}" * n,
    "braces in strings": lambda n: 'module attributes {t.a = "}}"} {' * n + "}" * n,
    "ifs": lambda n: "func.func @f(%c: i1) {" + "scf.if %c {" * n + "}" * n + "return }",
    "attribute aliases": lambda n: "#a0 = 1 : i32\n"
    + "".join(f"#a{i + 1} = [#a{i}]\n" for i in range(n))
    + op(f"#a{n}"),
    "type aliases": lambda n: "!a-0 = i32\n"
    + "".join(f"!a-{i + 1} = () -> tuple<!a-{i}>\n" for i in range(n))
    + op(f"!a-{n}"),
    "open": lambda n: "module {" * n,
    "layout": lambda n: op("#tessera.layout<" + "{" * n + ">"),
    "shape": lambda n: op('#tessera.shape<"' + "(" * n + '">'),
}


def run(arguments, text):
    result = subprocess.run(
        arguments, input=text, capture_output=True, text=True, timeout=SECONDS
    )
    assert result.returncode in (0, 1, 2), (arguments, result.returncode)
    return result


def ask_server(text):
    """Opens the text in an editor, and then asks something else."""
    document = {"uri": "test:///t.mlir", "languageId": "mlir", "version": 1, "text": text}
    messages = [
        {"id": 0, "method": "initialize", "params": {"capabilities": {}}},
        {"method": "textDocument/didOpen", "params": {"textDocument": document}},
        {"id": 1, "method": "shutdown"},
        {"method": "exit"},
    ]
    lines = [json.dumps({"jsonrpc": "2.0", **message}) for message in messages]
    result = run(["tessera-lsp-server", "-lit-test"], "\n// -----\n".join(lines) + "\n")
    assert result.returncode == 0, result.stderr[-300:]
    return result.stdout


os.makedirs(FOLDER, exist_ok=True)
for name, make in FORMS.items():
    for levels in (LIMIT - 40, LIMIT + 1, 100000):
        text = make(levels)
        path = os.path.join(FOLDER, "in.mlir")
        with open(path, "w") as file:
            file.write(text)
        opt = ["tessera-opt", path, "--allow-unregistered-dialect", "-o", os.devnull]
        result = run(opt, "")
        answers = [result.stderr]
        if levels != LIMIT + 1:
            run([*opt, "--split-input-file", "--canonicalize", "--cse"], "")
            answers.append(ask_server(text))
            answers.append(run(["tessera-translate", "--export-hlo", path], "").stderr)
        if levels == 100000 and name not in ("layout", "shape"):
            for answer in answers:
                assert "expected at most 512 levels" in answer, (name, answer[:300])
        if levels < LIMIT:
            assert "512 levels" not in result.stderr, (name, result.stderr)
