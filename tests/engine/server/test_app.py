import httpx
import pytest


@pytest.mark.spec("K-01")
def test_a_row_that_was_put_can_be_read_over_http(http: httpx.Client) -> None:
    http.post("/v1/wcl", json={"text": "DEFINE STATESTORE s KEYS city"}).raise_for_status()
    put = {"command": "put_row", "store": "s", "key": "a/b", "payload": "hello", "named": {"city": "Bern"}}
    http.post("/v1/commands", json=put).raise_for_status()
    row = http.get("/v1/state-stores/s/rows/a%2Fb").raise_for_status().json()
    assert (row["key"], row["payload"], row["named"]) == ("a/b", "hello", {"city": "Bern"})
