"""Measure the source tree: sizes, layers of imports, names, and the complexity of functions.

Usage: python tools/house.py [--top N]

A line of code is a line that holds part of a statement: blank lines, comments and docstrings do not
count. The lines of a stub (.pyi) count with those of its module. A room is a folder or a file of
the package. Layers are read from the table in docs/architecture.md, lowest first; a room may import
rooms of the layers below its own.

tools/since_0_1.txt lists what belongs to features that version 0.1 (commit 72f1836) did not have:
rooms, files, classes, functions and constants, each below the name of its feature. All other lines
count as features of 0.1. These include the lines for new options in old functions, and the imports
of a file that holds old and new features.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import tokenize
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "zonodpp"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
SINCE = ROOT / "tools" / "since_0_1.txt"
SKIPPED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
BRANCHES = (ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.match_case)
Places = set[tuple[str, int]]


def modules() -> dict[str, ast.Module]:
    """Return the syntax tree of every module by its dotted name."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ["zonodpp", *path.relative_to(SOURCE).with_suffix("").parts]
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(source_of(name))
    return found


def path_of(name: str) -> Path:
    """Return the file of a module."""
    path = SOURCE.joinpath(*name.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def source_of(name: str) -> str:
    """Return the source of a module, followed by that of its stub if it has one."""
    path = path_of(name)
    files = [path, path.with_suffix(".pyi")]
    return "".join(file.read_text(encoding="utf-8") for file in files if file.exists())


def code_lines(name: str, tree: ast.Module) -> set[int]:
    """Return the numbers of the lines of a module that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source_of(name)).readline):
        if token.type not in SKIPPED:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node, clean=False
        ):
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return lines


def definitions(body: list[ast.stmt], path: list[str]) -> list[ast.stmt]:
    """Return what defines a path of names: a class, a constant or a function with its overloads."""
    name, *rest = path
    found = [node for node in body if name in _defined(node)]
    if not rest:
        return found
    classes = [node for node in found if isinstance(node, ast.ClassDef)]
    return [inner for node in classes for inner in definitions(node.body, rest)]


def _defined(node: ast.stmt) -> list[str]:
    """Return the name of a class or function, or the names that a statement assigns to."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def lines_of_entry(entry: str, trees: dict[str, ast.Module], code: dict[str, set[int]]) -> Places:
    """Return the lines of code of a room, a file or a definition in a file, as (module, line)."""
    full = f"zonodpp.{entry}"
    inside = [name for name in trees if f"{name}.".startswith(f"{full}.")]
    found = {(name, line) for name in inside for line in code[name]}
    homes = [] if inside else [name for name in trees if full.startswith(f"{name}.")]
    for name in homes:
        for node in definitions(trees[name].body, full.removeprefix(f"{name}.").split(".")):
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
            lines = range(first, (node.end_lineno or 0) + 1)
            found |= {(name, line) for line in code[name].intersection(lines)}
    if not found:
        raise ValueError(f"{SINCE.name}: {entry!r} names no code of the package")
    return found


def later_features(trees: dict[str, ast.Module], code: dict[str, set[int]]) -> dict[str, int]:
    """Count the lines of each feature that 0.1 did not have; no line counts twice."""
    counts: dict[str, int] = defaultdict(int)
    seen: Places = set()
    feature = ""
    for line in SINCE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            feature = line.removeprefix("# ")
        else:
            fresh = lines_of_entry(line, trees, code) - seen
            if not fresh:
                raise ValueError(f"{SINCE.name}: other entries count all lines of {line!r}")
            counts[feature] += len(fresh)
            seen |= fresh
    return counts


def room_of(name: str) -> str:
    """Return the part of the package that a module belongs to: a folder or a file of the root."""
    return name.split(".")[1] if "." in name else "zonodpp"


def waiting_imports(tree: ast.Module, known: set[str]) -> set[str]:
    """Return the modules of the package that this one loads when a function needs them."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    loads = [call.args[0] for call in calls if getattr(call.func, "id", "") == "on_use"]
    return {load.value for load in loads if isinstance(load, ast.Constant)} & known


def public_homes() -> dict[str, str]:
    """Return the module of each name that `from zonodpp import ...` gives."""
    stub = ast.parse(source_of("zonodpp"))
    nodes = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in nodes for alias in node.names}


def imports(name: str, tree: ast.Module, known: set[str]) -> set[str]:
    """Return the modules of the package that this one imports, except for type checkers."""
    found, homes = set(), public_homes()
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inside & known or {node.module}
            if node.module == "zonodpp":
                found |= {homes.get(alias.name, "zonodpp") for alias in node.names}
    return (found & known) - {name, "zonodpp"}


def _statements(tree: ast.AST) -> list[ast.stmt]:
    """Return the import statements, also those inside functions."""
    found: list[ast.stmt] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        else:
            found.extend(_statements(node))
    return found


def rooms_of(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return which rooms import which others."""
    rooms: dict[str, set[str]] = defaultdict(set)
    for name, others in graph.items():
        rooms[room_of(name)] |= {room_of(other) for other in others} - {room_of(name)}
    return rooms


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of nodes that reach each other."""
    order: list[str] = []
    seen: set[str] = set()

    def visit(node: str, edges: dict[str, set[str]], out: list[str]) -> None:
        seen.add(node)
        for other in sorted(edges.get(node, ())):
            if other not in seen:
                visit(other, edges, out)
        out.append(node)

    for node in sorted(graph):
        if node not in seen:
            visit(node, graph, order)
    reverse: dict[str, set[str]] = defaultdict(set)
    for node, others in graph.items():
        for other in others:
            reverse[other].add(node)
    seen.clear()
    groups = []
    for node in reversed(order):
        if node not in seen:
            group: list[str] = []
            visit(node, reverse, group)
            if len(group) > 1:
                groups.append(sorted(group))
    return groups


def layers() -> dict[str, int]:
    """Read the layers of the architecture page: a table whose first column is a number."""
    found = {}
    for line in ARCHITECTURE.read_text(encoding="utf-8").splitlines():
        row = re.match(r"\|\s*(\d+)\s*\|([^|]*)\|", line)
        if row:
            for room in re.findall(r"`([\w]+)", row[2]):
                found[room] = int(row[1])
    return found


def against_layers(rooms: dict[str, set[str]]) -> list[str]:
    """Return the imports that do not point to a lower layer."""
    layer = layers()
    return [
        f"{room} imports {other}"
        for room, others in sorted(rooms.items())
        for other in sorted(others)
        if layer[other] >= layer[room]
    ]


def complexity(function: ast.AST) -> int:
    """Count the independent paths through a function (McCabe)."""
    count = 1
    for node in ast.walk(function):
        if isinstance(node, BRANCHES):
            count += 1
        elif isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            count += 1 + len(node.ifs)
    return count


def functions(trees: dict[str, ast.Module]) -> list[tuple[int, int, str]]:
    """Return complexity, number of lines and name of every function."""
    return [
        (complexity(node), (node.end_lineno or 0) - node.lineno + 1, f"{name}.{node.name}")
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]


def duplicate_names(trees: dict[str, ast.Module]) -> dict[str, list[str]]:
    """Return the classes and functions of modules that share their name with another one."""
    homes = defaultdict(list)
    for name, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                homes[node.name].append(name)
    return {name: where for name, where in sorted(homes.items()) if len(where) > 1}


def exposed(trees: dict[str, ast.Module]) -> set[str]:
    """Return the classes and functions in whose whole path no name begins with an underscore."""
    return {
        f"{name}.{node.name}"
        for name, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        and not re.search(r"\._", f"{name}.{node.name}")
    }


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--top", type=int, default=8, help="rows of each list")
    top = parser.parse_args().top
    trees = modules()
    sizes: dict[str, int] = defaultdict(int)
    files: dict[str, int] = defaultdict(int)
    typed_any = 0
    code = {name: code_lines(name, tree) for name, tree in trees.items()}
    for name in trees:
        sizes[room_of(name)] += len(code[name])
        files[room_of(name)] += 1
        typed_any += len(re.findall(r".*\bAny\b.*", source_of(name)))
    print(f"{'lines of code':<24}{sum(sizes.values()):>7,} in {len(trees)} files")
    later = later_features(trees, code)
    print(f"{'of features of 0.1':<24}{sum(sizes.values()) - sum(later.values()):>7,}")
    print(f"{'of later features':<24}{sum(later.values()):>7,}")
    for feature, size in later.items():
        print(f"  {feature:<22}{size:>7,}")
    print("lines of code by room")
    for room, size in sorted(sizes.items(), key=lambda item: -item[1]):
        print(f"  {room:<22}{size:>7,} in {files[room]}")
    print(f"lines that name Any     {typed_any:>7}")
    known = set(trees)
    graph = {name: imports(name, tree, known) for name, tree in trees.items()}
    waiting = {name: graph[name] | waiting_imports(tree, known) for name, tree in trees.items()}
    rooms = rooms_of(waiting)
    print("imports between rooms")
    for room, others in sorted(rooms.items()):
        print(f"  {room:<22}{', '.join(sorted(others)) or '-'}")
    print(f"cycles of modules: {cycles(graph) or 'none'}")
    print(f"cycles with imports that wait: {cycles(waiting) or 'none'}")
    print(f"imports against the layers: {against_layers(rooms) or 'none'}")
    print("duplicate names")
    for name, where in list(duplicate_names(trees).items())[: 4 * top]:
        print(f"  {name:<22}{', '.join(w.removeprefix('zonodpp.') for w in where)}")
    print(f"defined without an underscore in the path: {len(exposed(trees))}")
    every = functions(trees)
    print("most complex functions")
    for count, lines, name in sorted(every, reverse=True)[:top]:
        print(f"  {count:>3} {name} ({lines} lines)")
    print("longest functions")
    for lines, count, name in sorted(((f[1], f[0], f[2]) for f in every), reverse=True)[:top]:
        print(f"  {lines:>3} {name} (complexity {count})")


if __name__ == "__main__":
    main()
