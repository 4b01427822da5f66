"""The gate before the live server: what is inside is waited for, what comes later is refused."""

import threading

import pytest

from tests.support.gate import Gate


def ask(gate: Gate) -> tuple[list[str], list[bytes]]:
    """The states and the body with which the gate answers."""
    states: list[str] = []
    answer = gate({}, lambda state, headers: states.append(state))
    try:
        return states, list(answer)
    finally:
        if hasattr(answer, "close"):
            answer.close()


def greet(environ, start_response):
    start_response("200 OK", [])
    return [b"good day"]


def test_open_gate_lets_through_and_shut_gate_answers_503():
    gate = Gate(greet)

    assert ask(gate) == (["200 OK"], [b"good day"])
    gate.shut()
    assert ask(gate) == (["503 Service Unavailable"], [])
    gate.open()
    assert ask(gate) == (["200 OK"], [b"good day"])


def test_shutting_waits_until_an_answer_is_closed():
    gate, is_shut = Gate(greet), threading.Event()
    answer = gate({}, lambda state, headers: None)

    def shut():
        gate.shut()
        is_shut.set()

    thread = threading.Thread(target=shut)
    thread.start()
    assert not is_shut.wait(0.1)
    answer.close()
    answer.close()  # a server may close twice
    thread.join(30)

    assert is_shut.is_set()
    assert ask(gate)[0] == ["503 Service Unavailable"]


def test_what_is_left_is_tidied_before_the_gate_counts_it_as_gone():
    told = []
    gate = Gate(greet, tidy=lambda: told.append(gate._inside))

    ask(gate)

    assert told == [1]


def test_an_application_that_fails_is_no_longer_inside():
    def fail(environ, start_response):
        raise RuntimeError("It fell over.")

    gate = Gate(fail)
    with pytest.raises(RuntimeError):
        ask(gate)

    gate.shut()  # at once, and no TimeoutError
