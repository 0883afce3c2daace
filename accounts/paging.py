"""Links between the pages of a list."""

from django.http import HttpRequest, QueryDict


def query_without_page(request: HttpRequest, parameter: str = "page") -> QueryDict:
    """Return the parameters of the address except the number of a list's page, for links to its other pages."""
    query = request.GET.copy()
    query.pop(parameter, None)
    return query
