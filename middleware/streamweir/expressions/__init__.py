"""JMESPath expressions, compiled to closures, and trees of values that contain expressions."""

from streamweir.expressions.expression import Expression, InvalidExpression, compile_expression
from streamweir.expressions.reads import Path, Reads
from streamweir.expressions.scope import Scope, Vocabulary
from streamweir.expressions.templates import Template, bare_expression, compile_template

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
