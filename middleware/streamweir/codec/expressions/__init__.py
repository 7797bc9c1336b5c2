"""JMESPath expressions, compiled to closures, and trees of values with expressions in them."""

from streamweir.codec.expressions.expression import Expression, InvalidExpression, compile_expression
from streamweir.codec.expressions.reads import Path, Reads
from streamweir.codec.expressions.scope import Scope, Vocabulary
from streamweir.codec.expressions.templates import Template, bare_expression, compile_template

__all__ = [
    "Expression",
    "InvalidExpression",
    "Path",
    "Reads",
    "Scope",
    "Template",
    "Vocabulary",
    "bare_expression",
    "compile_expression",
    "compile_template",
]
