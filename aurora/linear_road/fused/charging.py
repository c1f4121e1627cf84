"""The kernel of the accounts box: charges and answers in the order of arrival."""

from typing import Any

from aurora.linear_road.compiled import cached_kernel

__all__ = ["charge"]


@cached_kernel
def charge(quotes: Any, asked: Any, accounts: Any, exit_lane: Any) -> Any:
    """`quotes` and `asked` have the arrival number first, then the number of the account; `asked` the answer last."""
    arrival, account, lane, toll, begins = quotes
    asked_arrival, asked_account, answers = asked
    balance, pending = accounts
    questions = 0
    for i in range(account.size):
        while questions < asked_account.size and asked_arrival[questions] < arrival[i]:
            answers[questions] = balance[asked_account[questions]]
            questions += 1
        mine = account[i]
        if not begins[i]:
            balance[mine] += pending[mine]
        pending[mine] = 0 if lane[i] == exit_lane else toll[i]
    while questions < asked_account.size:
        answers[questions] = balance[asked_account[questions]]
        questions += 1
