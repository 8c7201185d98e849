"""What PyYAML's errors mean, and where their true cause stands."""

from __future__ import annotations

import yaml

from spyre_dsl.language.diagnostics import Diagnostic, Severity
from spyre_dsl.language.source import Source
from spyre_dsl.language.syntax import Span


def explain(source: Source, problem: yaml.MarkedYAMLError) -> Diagnostic:
    """One diagnostic for a YAML syntax error, at its cause as far as that can be told."""
    mark = problem.problem_mark or problem.context_mark
    start = min(mark.index, len(source.text)) if mark else 0
    return Diagnostic("SD001", Severity.ERROR, str(problem.problem), source, Span(start, start + 1))
