"""The withdrawal of a person's consent by an admin, and the page of a withdrawn session."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from accounts.roles import Role, requires_role
from tutoring.models import Withdrawal, WithdrawnSession
from tutoring.views.requests import person_of
from tutoring.withdrawal import WithdrawalRefusedError, count_of, withdraw_consent


@require_http_methods(["GET", "POST"])
@requires_role(Role.ADMIN)
def consent_withdrawal(request: HttpRequest, account_id: int) -> HttpResponse:
    """Show what a withdrawal erases, or carry it out. Field: confirmation, the user name of the account."""
    person = get_object_or_404(User, pk=account_id)
    if request.method == "POST":
        if request.POST.get("confirmation", "") != person.get_username():
            messages.error(request, "Type the user name of the account to confirm. Nothing was erased.")
            return redirect("withdraw_consent", person.pk)
        try:
            withdrawal = withdraw_consent(person, person_of(request))
        except WithdrawalRefusedError as refused:
            messages.error(request, str(refused))
            return redirect("withdraw_consent", person.pk)
        count = withdrawal.counts["sessions"]
        messages.success(
            request, f"The consent is withdrawn: {count} session{'' if count == 1 else 's'} erased."
        )
        return redirect("account", person.pk)
    return render(
        request,
        "tutoring/withdrawal.html",
        {
            "account": person,
            "counts": count_of(person),
            "studies": person.assignments.order_by("study__name")
            .values_list("study__title", flat=True)
            .distinct(),
            "earlier": Withdrawal.objects.filter(account=person.pk),
        },
    )


def withdrawn_page(request: HttpRequest, session_id: UUID) -> HttpResponse | None:
    """Return the page of a withdrawn session, of status 410; None for any other id."""
    tombstone = WithdrawnSession.objects.filter(pk=session_id).select_related("withdrawal").first()
    if tombstone is None:
        return None
    return render(request, "tutoring/withdrawn.html", {"withdrawal": tombstone.withdrawal}, status=410)
