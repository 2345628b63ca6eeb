# SPDX-License-Identifier: Apache-2.0
"""What tests of the code itself read: the nodes of a module."""

import ast


def nodes(tree: ast.AST) -> list[ast.AST]:
    """A tree's nodes in the order of `ast.walk`, in two thirds of its time, without those that tell a name's use."""
    found = [tree]
    for node in found:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                found += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST) and name != "ctx":
                found.append(value)
    return found
