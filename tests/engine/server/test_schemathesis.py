"""What the document allows and what it does not, sent by schemathesis: no 500, and nothing undocumented."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi import checks

from dex.engine.client import Client
from dex.engine.local import LocalEngine
from dex.engine.server.openapi import document
from dex.engine.server.routes import ROUTES
from dex.samples.chunked_subscribers import ChunkedSubscribers
from dex.samples.customer_directory import CustomerDirectory
from dex.samples.order_flow import PAYMENTS, Order, OrderFlow
from dex.wcl.commands import DefineStateStore, NamedKey, PutRow
from tests.directories import fast_directory
from tests.engine.server.conftest import served

EXAMPLES = 8
CHECKED = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.unsupported_method,
    checks.allow_header_conformance,
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The URL of a server that has what its examples are about."""
    with fast_directory() as path:
        engine = LocalEngine(path / "data")
        client = Client(engine)
        engine.execute(DefineStateStore(name="accounts.employees", named_keys=[NamedKey("email", unique=True)]))
        engine.execute(PutRow(store="accounts.employees", key=b"e-1", payload=b"", named={"email": "ann@example.test"}))
        client.feeds.define("accounts.events").append("e-1", "{}")
        client.start_flow(OrderFlow, "order-1", Order("o-1", 1))
        client.publish(PAYMENTS, "order-1", 1)
        client.wait_for_flow("order-1")
        CustomerDirectory(client).run.start()
        ChunkedSubscribers(client).run.start()
        with served(engine) as server:
            yield server.url
        engine.close()


schema = schemathesis.openapi.from_dict(msgspec.json.decode(document(ROUTES)))
OPERATIONS = {operation.label: operation for operation in (found.ok() for found in schema.get_all_operations())}
# Tails and watches go on for as long as somebody reads; without query and body there is nothing to get wrong.
SENT = [
    (label, mode)
    for label, operation in OPERATIONS.items()
    for mode in GenerationMode
    if not label.endswith(("/tail", "/watch"))
    if mode is GenerationMode.POSITIVE or operation.query or operation.body
]


@pytest.mark.spec("K-01")
@pytest.mark.parametrize(("operation", "mode"), SENT)
def test_every_answer_is_as_the_document_says(url: str, operation: str, mode: GenerationMode) -> None:
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(OPERATIONS[operation].as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        shorten_waits(case)
        response = case.call(base_url=url, timeout=30)
        assert response.status_code != 500
        case.validate_response(response, checks=CHECKED)

    check()


def shorten_waits(case: Any) -> None:
    """Wait only a little where a case waits long."""
    commands = case.body if isinstance(case.body, list) else [case.body]
    for part in (case.query, *commands):
        if isinstance(part, dict) and isinstance(part.get("wait_ms"), int):
            part["wait_ms"] = min(part["wait_ms"], 5)
