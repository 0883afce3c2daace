"""The pages and commands of tutoring."""

from django.urls import include, path

from tutoring import near_miss_views, trajectory_views, views
from tutoring.rules import views as rule_views

urlpatterns = [
    path("", views.home, name="home"),
    path("", include("tutoring.review.urls")),
    path("", include("tutoring.training.urls")),
    path("sessions/", views.session_list, name="sessions"),
    path("sessions/start/", views.start_session, name="start_session"),
    path("sessions/<uuid:session_id>/", views.session, name="session"),
    path("sessions/<uuid:session_id>/send/", views.send_message, name="send_message"),
    path("sessions/<uuid:session_id>/again/", views.ask_again, name="ask_again"),
    path("sessions/<uuid:session_id>/stop/", views.stop_reply, name="stop_reply"),
    path("sessions/<uuid:session_id>/execute/", views.execute, name="execute"),
    path("sessions/<uuid:session_id>/close/", views.close_session, name="close_session"),
    path("sessions/<uuid:session_id>/draft/", views.save_draft, name="save_draft"),
    path("sessions/<uuid:session_id>/check/", rule_views.check_draft, name="check_draft"),
    path("codebook/", rule_views.codebook, name="codebook"),
    path("codebook/<int:version>/", rule_views.codebook, name="codebook_version"),
    path("near-misses/", near_miss_views.near_miss_list, name="near_misses"),
    path("trajectories/", trajectory_views.trajectory_list, name="trajectories"),
    path("trajectories/export.jsonl", trajectory_views.export_all, name="export_trajectories"),
    path("trajectories/<uuid:session_id>/", trajectory_views.trajectory, name="trajectory"),
    path(
        "trajectories/<uuid:session_id>/export.jsonl", trajectory_views.export_one, name="export_trajectory"
    ),
    path("trajectories/<uuid:session_id>/invalidate/", trajectory_views.invalidate, name="invalidate"),
]
