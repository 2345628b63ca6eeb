# SPDX-License-Identifier: Apache-2.0
"""Small faults put into Python source on purpose: what they are, which there are in a file, and which are drawn.

A file is parsed, one node is replaced, and the whole is written again: without comments, else the same but for it.
"""

import ast
import copy
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
OTHER = {"min": "max", "max": "min", "any": "all", "all": "any"}
"""Functions that are easily taken for each other."""
UNSEEN = {"strict", "encoding", "help", "stacklevel"}
"""Keywords that change nothing that a test on this machine can see, or words alone."""
FLOAT_FACTOR = 1.25
"""A float is off by so much: what is tested to a tolerance has to notice."""

Variant = tuple[str, ast.AST]


@dataclass(frozen=True)
class Mutant:
    """One fault: the `number`th of those that its file can have."""

    path: str
    """From the root of the repository."""
    number: int
    line: int
    function: str
    """Its qualified name; `<module>` for what runs on import."""
    operator: str
    was: str
    now: str

    @property
    def place(self) -> tuple[str, str, str, str]:
        """What names it when lines move."""
        return self.path, self.function, self.was, self.now


def draw(root: Path, folder: str, *, seed: int, count: int) -> list[Mutant]:
    """That many of the folder's mutants, or all lines' where it has fewer: a line is as likely as any other, and is
    drawn once.
    """
    lines: dict[tuple[str, int], list[Mutant]] = defaultdict(list)
    for path in sorted((root / folder).rglob("*.py")):
        for one in mutants(path.read_text(encoding="utf-8"), str(path.relative_to(root))):
            lines[one.path, one.line].append(one)
    drawn = random.Random(seed)
    chosen = drawn.sample(sorted(lines), min(count, len(lines)))
    return [drawn.choice(lines[line]) for line in chosen]


def mutants(source: str, path: str) -> list[Mutant]:
    """All that a file can have."""
    return [
        Mutant(path, number, site.line, site.function, operator, *site.change(new))
        for number, (site, operator, new) in enumerate(_variants(ast.parse(source)))
    ]


def mutated(source: str, number: int) -> str:
    """The file with that fault."""
    tree = ast.parse(source)
    for place, (site, _, new) in enumerate(_variants(tree)):
        if place == number:
            site.put(new)
            return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    raise IndexError(number)


def words(node: ast.AST) -> str:
    """A node on one line: of a block what it begins with."""
    return ast.unparse(node).partition("\n")[0]


@dataclass(frozen=True)
class Site:
    """Where a node stands."""

    node: ast.AST
    parent: ast.AST
    field: str
    place: int | None
    """In a list of nodes."""
    function: str
    line: int

    def change(self, new: ast.AST) -> tuple[str, str]:
        """Before and after, in words: of a constant what it stands in."""
        if not isinstance(self.node, ast.Constant):
            return words(self.node), words(new)
        before = words(self.parent)
        self.put(new)
        after = words(self.parent)
        self.put(self.node)
        return before, after

    def put(self, new: ast.AST) -> None:
        """Another node there."""
        if self.place is None:
            setattr(self.parent, self.field, new)
        else:
            getattr(self.parent, self.field)[self.place] = new


def _variants(tree: ast.Module) -> Iterator[tuple[Site, str, ast.AST]]:
    for site in _sites(tree, "<module>"):
        for operator, new in _replacements(site):
            yield site, operator, new


def _sites(parent: ast.AST, function: str, outer: ast.AST | None = None) -> Iterator[Site]:
    for field, value in ast.iter_fields(parent):
        if field in ("annotation", "returns", "bases", "type_params"):
            continue
        for place, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(node, ast.AST) or _is_declaration(node):
                continue
            line = getattr(node, "lineno", getattr(parent, "lineno", 0))
            yield Site(node, parent, field, place, function, line)
            inside = _inside(node, outer, function)
            yield from _sites(node, inside, outer if inside == function else node)


def _inside(node: ast.AST, outer: ast.AST | None, function: str) -> str:
    """The name that code objects of a function or class have, as `co_qualname`."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return function
    if function == "<module>":
        return node.name
    return f"{function}.{'<locals>.' if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef) else ''}{node.name}"


def _is_declaration(node: ast.AST) -> bool:
    """A docstring, what a type checker alone sees, or how a dataclass is made."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Call(func=ast.Name(id="dataclass")):
            return True
    return False


def _replacements(site: Site) -> Iterator[Variant]:
    node = site.node
    match node:
        case ast.Compare(ops=[operator, *rest]):
            for other in COMPARISONS[type(operator)]:
                yield "comparison", _with(node, ops=[other(), *rest])
        case ast.BoolOp(op=operator, values=values):
            yield "and for or", _with(node, op=ast.Or() if isinstance(operator, ast.And) else ast.And())
            for place in range(len(values)):
                kept = values[:place] + values[place + 1 :]
                yield "operand", kept[0] if len(kept) == 1 else _with(node, values=kept)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield "sign", operand
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "constant", ast.Constant(value + 1)
            yield "constant", ast.Constant(value - 1)
        case ast.Constant(value=float(value)):
            yield "constant", ast.Constant(value * FLOAT_FACTOR if value else 1.0)
        case ast.BinOp(op=operator, left=left) if type(operator) in ARITHMETIC and not _is_text(left):
            yield "arithmetic", _with(node, op=ARITHMETIC[type(operator)]())
        case ast.AugAssign(op=operator) if type(operator) in ARITHMETIC:
            yield "arithmetic", _with(node, op=ARITHMETIC[type(operator)]())
            yield "statement", ast.Pass()
        case ast.Return(value=value) if value is not None and words(value) != "None":
            yield "return", ast.Return(ast.Constant(None))
            if isinstance(value, ast.List | ast.Tuple | ast.Dict | ast.ListComp | ast.DictComp) and not _is_empty(
                value
            ):
                yield "return", ast.Return(_empty(value))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield "branches", ast.IfExp(test, orelse, body)
        case ast.If(test=test) | ast.While(test=test):
            yield "branches", _with(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.comprehension(ifs=[_, *_] as ifs):
            for place in range(len(ifs)):
                yield "filter", _with(node, ifs=ifs[:place] + ifs[place + 1 :])
        case ast.Slice():
            for bound in ("lower", "upper", "step"):
                if getattr(node, bound) is not None:
                    yield "slice", _with(node, **{bound: None})
        case ast.Call(func=ast.Name(id=name)) if name in OTHER:
            yield "function", _with(node, func=ast.Name(OTHER[name]))
        case ast.Raise() | ast.Delete() | ast.Continue() | ast.Break() | ast.Expr():
            yield "statement", ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "statement", ast.Pass()
        case ast.ExceptHandler(type=ast.Tuple(elts=[_, _, *_] as kinds)):
            for place in range(len(kinds)):
                yield "exception", _with(node, type=ast.Tuple(kinds[:place] + kinds[place + 1 :]))
    if isinstance(node, ast.Call) and not _is_text(node.func):
        for place, keyword in enumerate(node.keywords):
            if keyword.arg is not None and keyword.arg not in UNSEEN:
                yield "keyword", _with(node, keywords=node.keywords[:place] + node.keywords[place + 1 :])


def _with(node: ast.AST, **fields: object) -> ast.AST:
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_empty(node: ast.AST) -> bool:
    return words(node) == words(_empty(node))


def _empty(node: ast.AST) -> ast.AST:
    if isinstance(node, ast.Dict | ast.DictComp):
        return ast.Dict([], [])
    return ast.Tuple([]) if isinstance(node, ast.Tuple) else ast.List([])
