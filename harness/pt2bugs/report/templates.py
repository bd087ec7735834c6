"""The Jinja2 environment of everything that is rendered from a template: pages, pictures and Markdown."""

from __future__ import annotations

import jinja2

from pt2bugs.report.markdown import code, code_block, escape


def markup_templates(package: str = "pt2bugs.report") -> jinja2.Environment:
    """Return the environment of HTML and SVG templates: texts are escaped, an undefined name is an error.

    Args:
        package: that has the templates.
    """
    return _environment(package, escapes=True)


def markdown_templates(package: str = "pt2bugs.report") -> jinja2.Environment:
    """Return the environment of Markdown templates, which escape texts by a filter.

    Args:
        package: that has the templates.
    """
    environment = _environment(package, escapes=False)
    environment.filters |= {"escape_markdown": escape, "code": code, "code_block": code_block}
    return environment


def _environment(package: str, *, escapes: bool) -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=escapes,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
