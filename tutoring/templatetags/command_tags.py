"""The field that makes a command safe to repeat."""

from uuid import uuid4

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def command_field() -> SafeString:
    """A hidden field with a fresh command id, so that a form that is sent twice is carried out once."""
    return format_html('<input type="hidden" name="command" value="{}">', uuid4())
