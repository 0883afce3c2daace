"""The form field with the id of a command."""

from uuid import uuid4

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def command_field() -> SafeString:
    """Return a hidden field with a new command id, so that a form that is sent twice is executed once."""
    return format_html('<input type="hidden" name="command" value="{}">', uuid4())
