"""URLs of the problem bank, of models and of runs. External ids may contain any printable character."""

from django.urls import path

from benchmark.views import problems as views
from benchmark.views.ablations import ablations
from benchmark.views.chain import chain
from benchmark.views.comparison import comparison
from benchmark.views.glossary import glossary_page
from benchmark.views.growth import growth
from benchmark.views.items import items
from benchmark.views.leaderboard import leaderboard
from benchmark.views.matrix import matrix
from benchmark.views.mcqs import question, question_set, question_sets
from benchmark.views.models import add_model, edit_model, model, model_test, models, new_version, test_model
from benchmark.views.oracles import candidate_rankings, verifier, verifiers
from benchmark.views.published import published
from benchmark.views.refinement import refinement
from benchmark.views.run import export, progress, run
from benchmark.views.slow import slow_programs
from benchmark.views.spending import add_cap, edit_cap, remove_cap, spending
from benchmark.views.suites import suite, suites

urlpatterns = [
    path("glossary/", glossary_page, name="glossary"),
    path("models/", models, name="models"),
    path("models/add/", add_model, name="add_model"),
    path("models/<int:model_id>/", model, name="model"),
    path("models/<int:model_id>/edit/", edit_model, name="edit_model"),
    path("models/<int:model_id>/new-version/", new_version, name="new_model_version"),
    path("models/<int:model_id>/test/", test_model, name="test_model"),
    path("models/<int:model_id>/test/result/", model_test, name="model_test"),
    # The URL of a figure ends without a slash, so that no external id matches it.
    path("problems/<slug:dataset>/<path:external_id>/figures/<str:name>", views.figure, name="figure"),
    path("problems/<slug:dataset>/<path:external_id>/", views.problem, name="problem"),
    path("runs/", leaderboard, name="runs"),
    path("runs/matrix/", matrix, name="run_matrix"),
    path("runs/compare/", comparison, name="compare_runs"),
    path("runs/ablations/", ablations, name="ablations"),
    path("runs/published/", published, name="published_tables"),
    path("runs/mcqs/", question_sets, name="question_sets"),
    path("runs/mcqs/<slug:name>/", question_set, name="question_set"),
    path("runs/mcqs/<slug:name>/<int:number>/", question, name="question"),
    path("runs/suites/", suites, name="suites"),
    path("runs/suites/<slug:dataset>/<int:version>/<path:external_id>/", suite, name="suite"),
    path("runs/verifiers/", verifiers, name="verifiers"),
    path("runs/verifiers/rankings/", candidate_rankings, name="candidate_rankings"),
    path("runs/verifiers/<int:verifier_id>/", verifier, name="verifier"),
    path("runs/slow/", slow_programs, name="slow_programs"),
    path("runs/growth/<int:submission_id>/", growth, name="growth"),
    path("runs/chains/<int:item_id>/", chain, name="chain"),
    path("runs/<uuid:run_id>/", run, name="run"),
    path("runs/<uuid:run_id>/progress/", progress, name="run_progress"),
    path("runs/<uuid:run_id>/refinement/", refinement, name="run_refinement"),
    path("runs/<uuid:run_id>/items/", items, name="run_items"),
    path("runs/<uuid:run_id>/report.<str:form>", export, name="run_report"),
    path("spending/", spending, name="spending"),
    path("spending/add/", add_cap, name="add_cap"),
    path("spending/<int:cap_id>/", edit_cap, name="edit_cap"),
    path("spending/<int:cap_id>/remove/", remove_cap, name="remove_cap"),
]
