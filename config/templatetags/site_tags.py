"""Template tags of the whole site. A context processor would not reach the pages of errors."""

from django import template

from config.version import VERSION

register = template.Library()


@register.simple_tag
def site_version() -> str:
    """Return the version of Hintbench."""
    return VERSION
