"""The pages of the problem bank. External ids are the sources' own and may hold any printable character."""

from django.urls import path

from benchmark import views

urlpatterns = [
    path("problems/", views.problem_list, name="problems"),
    # The figure comes first and ends without a slash, so no external id can be mistaken for it.
    path("problems/<slug:dataset>/<path:external_id>/figures/<str:name>", views.figure, name="figure"),
    path("problems/<slug:dataset>/<path:external_id>/", views.problem, name="problem"),
]
