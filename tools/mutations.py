"""Find the places where one operator of a module can be changed, and change one.

A mutation is one small mistake: ``+`` for ``-``, ``<`` for ``<=``, ``min`` for
``max``, a number that is off by one, a condition turned round, a term left out.
Only bodies of functions are touched. Left alone are docstrings, annotations,
decorators, what is raised, and settings (constants of a module, defaults of
parameters, tolerances): no law says that a tolerance is 1e-9 and not 2e-9.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
COMPARISON = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
TWINS = {
    "min": "max",
    "minimum": "maximum",
    "any": "all",
    "floor": "ceil",
    "argmin": "argmax",
    "fmin": "fmax",
    "log": "log1p",
    "exp": "expm1",
}
TWINS |= {after: before for before, after in TWINS.items()}
TOLERANCE = 1e-6  # what is smaller guards against rounding or a division by 0
SIDES = {"left": "right", "right": "left"}  # of searchsorted
METHODS = {"min", "max", "any", "all", "argmin", "argmax"}
LIBRARIES = {"np", "math"}
DROPPABLE = (ast.Add, ast.Sub, ast.Mult)
SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "args", "type_params"}
SKIPPED_KEYWORDS = {"strict", "dtype", "kind", "copy"}
SKIPPED_CALLS = {"isinstance", "issubclass", "errstate", "cast"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of one operator in one module."""

    module: str
    path: str
    function: str
    line: int
    column: int
    operator: str
    before: str
    after: str
    site: int
    variant: int

    @property
    def name(self) -> str:
        """Return what identifies the change to a reader, without line numbers."""
        return f"{self.before} -> {self.after}"


@dataclass(slots=True)
class Place:
    """A node that can be changed, and where it hangs."""

    parent: ast.AST
    field: str
    index: int | None
    node: ast.AST
    function: str


def mutations(module: str, path: str, text: str) -> list[list[Mutation]]:
    """Return the mutations of a module: one list for each place."""
    found = []
    for site, place in enumerate(_places(ast.parse(text))):
        before = _described(place.node)
        found.append(
            [
                Mutation(
                    module=module,
                    path=path,
                    function=place.function,
                    line=place.node.lineno,
                    column=place.node.col_offset,
                    operator=operator,
                    before=before,
                    after=_described(changed),
                    site=site,
                    variant=number,
                )
                for number, (operator, changed) in enumerate(_variants(place.node))
            ]
        )
    return found


def mutated(text: str, mutation: Mutation) -> ast.Module:
    """Return the module's tree with one mutation in it."""
    tree = ast.parse(text)
    for site, place in enumerate(_places(tree)):
        if site == mutation.site:
            changed = _variants(place.node)[mutation.variant][1]
            _replace(place, ast.copy_location(changed, place.node))
            break
    return ast.fix_missing_locations(tree)


def marked(module: str, text: str, mark: str) -> ast.Module:
    """Return the module's tree, each function of which first calls ``mark``.

    It is called with ``module:function``; both names are as in ``Mutation``.
    """
    tree = ast.parse(text)
    _mark(tree, f"{module}:", mark)
    return ast.fix_missing_locations(tree)


def _mark(node: ast.AST, within: str, mark: str) -> None:
    for child in ast.iter_child_nodes(node):
        inner = within
        if isinstance(child, Function | ast.ClassDef):
            inner = f"{within}{child.name}."
        _mark(child, inner, mark)
        if isinstance(child, Function):
            call = ast.Call(ast.Name(mark, ast.Load()), [ast.Constant(inner[:-1])], [])
            first = child.body[0]
            documented = ast.get_docstring(child, clean=False) is not None
            line = ast.copy_location(ast.Expr(call), first)
            child.body.insert(int(documented), line)


def _replace(place: Place, changed: ast.AST) -> None:
    if place.index is None:
        setattr(place.parent, place.field, changed)
    else:
        getattr(place.parent, place.field)[place.index] = changed


def _places(tree: ast.Module) -> Iterator[Place]:
    """Yield every place that can be changed, in the order of the text."""
    for node in tree.body:
        yield from _functions(node, "")


def _functions(node: ast.AST, within: str) -> Iterator[Place]:
    """Yield the places in the functions of a module or a class."""
    if isinstance(node, Function):
        yield from _inside(node, f"{within}{node.name}")
    elif isinstance(node, ast.ClassDef):
        for child in node.body:
            yield from _functions(child, f"{within}{node.name}.")


def _inside(node: ast.AST, function: str) -> Iterator[Place]:
    """Yield the places below a node."""
    for field, value in ast.iter_fields(node):
        if field in SKIPPED_FIELDS and not isinstance(node, ast.Call):
            continue
        many = isinstance(value, list)
        for index, child in enumerate(value if many else [value]):
            if not isinstance(child, ast.AST) or _left_alone(child):
                continue
            if _variants(child):
                yield Place(node, field, index if many else None, child, function)
            inner = f"{function}.{child.name}" if isinstance(child, Function) else ""
            yield from _inside(child, inner or function)


def _left_alone(node: ast.AST) -> bool:
    """Return whether nothing below a node is to be changed."""
    if isinstance(node, ast.Raise | ast.Assert):
        return True
    if isinstance(node, ast.keyword):
        return node.arg in SKIPPED_KEYWORDS
    return isinstance(node, ast.Call) and _called(node) in SKIPPED_CALLS


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _variants(node: ast.AST) -> list[tuple[str, ast.AST]]:  # noqa: PLR0911 - a table
    """Return what a node can be changed into, each with the operator's name."""
    match node:
        case ast.BinOp() | ast.AugAssign():
            return _arithmetic(node)
        case ast.Compare():
            return [_compared(node, i) for i in range(len(node.ops))]
        case ast.BoolOp():
            return _boolean(node)
        case ast.UnaryOp(op=ast.USub() | ast.Invert() | ast.Not()):
            return [("unary", node.operand)] if not _literal(node) else []
        case ast.Constant():
            return _constant(node)
        case ast.If() | ast.While() | ast.IfExp():
            return _conditional(node)
        case ast.Name() | ast.Attribute():
            return _named(node)
        case ast.Break():
            return [("jump", ast.Continue())]
        case ast.Continue():
            return [("jump", ast.Break())]
    return []


def _literal(node: ast.UnaryOp) -> bool:
    """Return whether this is the sign of a plain number, which is changed as such."""
    return isinstance(node.operand, ast.Constant)


def _arithmetic(node: ast.BinOp | ast.AugAssign) -> list[tuple[str, ast.AST]]:
    swap = ARITHMETIC.get(type(node.op))
    if swap is None or _words(node):
        return []
    changed = copy.copy(node)
    changed.op = swap()
    found: list[tuple[str, ast.AST]] = [("arithmetic", changed)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, DROPPABLE):
        found.append(("dropped term", node.left))
    return found


def _words(node: ast.BinOp | ast.AugAssign) -> bool:
    """Return whether this puts words together or names types."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.value, ast.Constant | ast.JoinedStr) and not (
            isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, int | float)
        )
    sides = (node.left, node.right)
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str | None))
        for side in sides
    )


def _compared(node: ast.Compare, index: int) -> tuple[str, ast.AST]:
    changed = copy.copy(node)
    changed.ops = list(node.ops)
    changed.ops[index] = COMPARISON[type(node.ops[index])]()
    return "comparison", changed


def _boolean(node: ast.BoolOp) -> list[tuple[str, ast.AST]]:
    changed = copy.copy(node)
    changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    dropped: ast.AST = node.values[0]
    if len(node.values) > 2:
        dropped = ast.BoolOp(node.op, node.values[:-1])
    return [("boolean", changed), ("dropped term", ast.copy_location(dropped, node))]


def _constant(node: ast.Constant) -> list[tuple[str, ast.AST]]:
    value = node.value
    if isinstance(value, bool):
        return [("constant", ast.Constant(not value))]
    if isinstance(value, float) and 0 < abs(value) <= TOLERANCE:
        return []
    if isinstance(value, int | float):
        return [("constant", ast.Constant(value + step)) for step in (1, -1)]
    if isinstance(value, str) and value in SIDES:
        return [("twin", ast.Constant(SIDES[value]))]
    return []


def _conditional(node: ast.If | ast.While | ast.IfExp) -> list[tuple[str, ast.AST]]:
    if isinstance(node.test, ast.UnaryOp | ast.Constant):
        return []  # a `not` is dropped by itself
    changed = copy.copy(node)
    changed.test = ast.UnaryOp(ast.Not(), node.test)
    return [("negated condition", changed)]


def _named(node: ast.Name | ast.Attribute) -> list[tuple[str, ast.AST]]:
    """Return the twin of a function that is called by name, as min is of max."""
    name = node.id if isinstance(node, ast.Name) else node.attr
    if name not in TWINS or not isinstance(node.ctx, ast.Load):
        return []
    if isinstance(node, ast.Name):
        known = name in {"min", "max", "any", "all"}
    else:
        library = isinstance(node.value, ast.Name) and node.value.id in LIBRARIES
        known = library or name in METHODS
    if not known:
        return []
    changed = copy.copy(node)
    setattr(changed, "id" if isinstance(node, ast.Name) else "attr", TWINS[name])
    return [("twin", changed)]


def _described(node: ast.AST) -> str:
    """Return the text of a node; of a statement that branches, its condition."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return f"if {ast.unparse(test)}"
    return ast.unparse(node)
