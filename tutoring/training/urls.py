"""The pages of the training."""

from django.urls import path

from tutoring.training import views

urlpatterns = [
    path("training/", views.training, name="training"),
    path("training/finish/", views.finish, name="finish_training"),
    path("training/results/", views.results, name="training_results"),
    path("training/results/<int:result_id>/", views.result, name="training_result"),
]
