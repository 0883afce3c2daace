"""The pages and commands of reviews."""

from django.urls import path

from tutoring.review import detector_views, figure_views, views

urlpatterns = [
    path("review/", views.queue, name="review_queue"),
    path("review/next/", views.claim_next, name="claim_next"),
    path("review/assign/", views.assign, name="assign_review"),
    path("review/flags/<int:flag_id>/answer/", views.answer_flag, name="answer_flag"),
    path("review/reviews/<uuid:review_id>/", views.review, name="review"),
    path("review/reviews/<uuid:review_id>/draft/", views.save_draft, name="save_review_draft"),
    path("review/reviews/<uuid:review_id>/submit/", views.submit, name="submit_review"),
    path("review/reviews/<uuid:review_id>/skip/", views.skip, name="skip_review"),
    path("review/reviews/<uuid:review_id>/withdraw/", views.withdraw, name="withdraw_review"),
    path("review/reviews/<uuid:review_id>/flag/", views.flag, name="flag_session"),
    path("review/sessions/", figure_views.sessions, name="reviewed_sessions"),
    path("review/sessions/<uuid:session_id>/", views.compare, name="compare_reviews"),
    path("review/agreement/", figure_views.agreement, name="agreement"),
    path("review/solve-rates/", figure_views.rates, name="solve_rates"),
    path("review/detectors/", detector_views.scores, name="detector_scores"),
    path("review/detectors/messages/", detector_views.behind, name="detector_messages"),
    path("review/labels.csv", figure_views.labels, name="labels_csv"),
    path("review/audit/", figure_views.audit, name="audit_log"),
    path("trajectories/<uuid:session_id>/page.html", figure_views.page_of_session, name="trajectory_page"),
]
