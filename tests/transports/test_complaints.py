# SPDX-License-Identifier: Apache-2.0
from railgauge.transports import complaints
from railgauge.transports.complaints import MOST, PERIOD_S, Complaints


def test_so_many_are_logged_of_an_hour_and_the_last_says_so(caplog, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(complaints.time, "monotonic", lambda: now[0])
    warnings = Complaints("railgauge.test")
    for number in range(5 * MOST):
        warnings.log(f"outsider {number}")
    assert [record.getMessage() for record in caplog.records] == [
        *(f"railgauge: outsider {number}" for number in range(MOST - 1)),
        f"railgauge: outsider {MOST - 1}; further ones are not logged for an hour",
    ]
    caplog.clear()
    now[0] += PERIOD_S + 1
    warnings.log("outsider of another hour")
    assert caplog.messages == ["railgauge: outsider of another hour"]


def test_the_first_who_were_refused_are_kept_by_host_and_reason():
    warnings = Complaints("railgauge.test")
    for number in range(5 * MOST):
        for port in (1, 2):
            warnings.refuse("refused", f"10.0.0.{number}:{port}", "it said too little")
    assert list(warnings.refused) == [f"10.0.0.{number}, it said too little" for number in range(MOST)]
