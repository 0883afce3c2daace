"""Links between the pages of a list."""

from django.http import HttpRequest, QueryDict


def query_without_page(request: HttpRequest) -> QueryDict:
    """Return the parameters of the address except the page number, for links to other pages of the list."""
    query = request.GET.copy()
    query.pop("page", None)
    return query
