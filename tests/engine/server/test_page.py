"""The status page: what it tells, to whom, and how it looks in a real browser."""

import base64
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest

from dex import RetryPolicy, StepOptions, __version__
from dex.engine.client import Client
from dex.engine.local import LocalEngine
from dex.engine.server import statuspage
from dex.engine.server.terms import Terms
from dex.engine.server.tokens import Tokens
from dex.wcl.commands import (
    AppendRecords,
    DefineFeed,
    DefineStateStore,
    FeedRecord,
    FromFeed,
    NamedKey,
    PutRow,
    ShowFreshness,
)
from dex.wcl.commands.overview import ShowOverview
from tests.browser import Browser, chromium, needs_chromium
from tests.directories import fast_directory
from tests.engine.flows.runtime.desk import Desk, Do
from tests.engine.server.conftest import Serve, Server, served
from tests.engine.sync.worker.flow import Order, synced_to

pytestmark = pytest.mark.spec("K-01")

EVIL = "<script>document.title='gotcha'</script>"
SECRET = "a-value-of-somebody"
LONG = "f" * 200
LOOKS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"scheme": "dark"},
    "phone": {"width": 390, "height": 844},
    "dark phone without scripts": {"width": 390, "height": 844, "scheme": "dark", "scripts": False},
}


class Parts(HTMLParser):
    """The texts of a page: of the cells of each section's rows, and of the node's facts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: dict[str, list[list[str]]] = {}
        self.facts: dict[str, str] = {}
        self._texts: list[str] = []
        self._section = self._name = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "section":
            self._section = dict(attributes)["aria-labelledby"] or ""
            self.rows[self._section] = []
        elif tag == "tr":
            self.rows[self._section].append([])
        elif tag in ("th", "td", "dt", "dd"):
            self._texts = []

    def handle_data(self, data: str) -> None:
        self._texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        text = " ".join("".join(self._texts).split())
        if tag in ("th", "td"):
            self.rows[self._section][-1].append(text)
        elif tag == "dt":
            self._name = text
        elif tag == "dd":
            self.facts[self._name] = text


@pytest.fixture
def engine() -> Iterator[LocalEngine]:
    with fast_directory() as path:
        engine = LocalEngine(path / "data", attribute_stores=["orders"])
        yield engine
        engine.close()


@pytest.fixture
def client(engine: LocalEngine) -> Client:
    """A client of the engine behind the page; Flows are worked when they are waited for."""
    return Client(engine)


@pytest.fixture
def server(engine: LocalEngine) -> Iterator[Server]:
    with served(engine) as server:
        yield server


def fill(client: Client) -> None:
    """Make something for each part of the page."""
    for name in ("accounts.employees", EVIL):
        client.execute(DefineStateStore(name=name, named_keys=[NamedKey("email", unique=True)]))
    for number in range(1234):
        client.execute(PutRow(store="accounts.employees", key=b"%d" % number, payload=b""))
    for name in ("events", LONG):
        client.execute(DefineFeed(name=name))
    client.execute(DefineStateStore(name="by-event", source=FromFeed("events")))
    client.execute(AppendRecords(feed="events", records=[FeedRecord(key=b"k", payload=b"{}")] * 7))
    client.start_flow(Order, EVIL, options=synced_to("orders"))
    client.set_attributes(EVIL, {"Total": 1, "Note": SECRET})
    client.start_flow(Order, "o")
    client.stop_flow("o")


def fail(client: Client, url: str) -> None:
    """Have a Step fail, and some requests, each with a value that nobody else is to see."""

    def charge(context: Any, input: Any) -> Any:
        raise ValueError(SECRET)

    once = StepOptions(execute_retry=RetryPolicy(maximum_attempts=1))
    client.start_flow(Desk(Do("Charge", charge, once)), "f")
    client.wait_for_flow("f")
    for key in ("1", "2"):
        put = {"command": "put_row", "store": "accounts.employees", "key": key, "payload": "", "named": {}}
        put["named"] = {"email": SECRET}
        httpx.post(f"{url}/v1/commands", json=put)
    for _ in range(3):
        httpx.get(f"{url}/v1/flows/{SECRET}")


def look(url: str, **headers: str) -> Parts:
    response = httpx.get(f"{url}/", headers=headers)
    assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
    return Parts(response.text)


def test_it_tells_of_stores_feeds_flows_and_sync(client: Client, server: Server) -> None:
    fill(client)
    rows = look(server.url).rows
    assert rows["stores"][1:] == [
        [EVIL, "0", "current", "written directly"],
        ["accounts.employees", "1,234", "current", "written directly"],
        ["by-event", "1", "current", "events"],
    ]
    assert rows["feeds"][1:] == [["events", "7", "by-event"], [LONG, "0", "none"]]
    assert rows["flows"] == [
        ["Type", "Running", "Completed", "Failed", "Canceled", "Terminated"],
        ["Order", "1", "0", "0", "1", "0"],
    ]
    ((store, pending, _, chart, flow_id, writing),) = rows["sync"][1:]
    assert (store, pending, flow_id, writing) == ("orders", "2", EVIL, "off")
    assert sum(int(count) for count in re.findall(r": (\d+)", chart)) == 2


def test_it_tells_of_the_node(client: Client, server: Server) -> None:
    fill(client)
    facts = look(server.url).facts
    assert facts["Version"] == __version__
    assert facts["Data directory"] == str(server.engine.path.parent)
    assert facts["Journal position"] == f"{client.execute(ShowFreshness()).committed_seq:,}"
    assert re.fullmatch(r"(\d+ min )?\d+ s", facts["Up for"])
    assert facts["Sync"] == "off"


def test_an_empty_server_says_so(server: Server) -> None:
    page = httpx.get(f"{server.url}/").text
    assert page.count("None is defined.") == 2
    assert Parts(page).rows == {part: [] for part in ("node", "stores", "feeds", "flows", "sync", "errors")}


def test_failures_are_told_without_values(client: Client, server: Server) -> None:
    fill(client)
    fail(client, server.url)
    page = httpx.get(f"{server.url}/").text
    found = {where: (what, times) for _, where, what, times in Parts(page).rows["errors"][1:]}
    assert found["GET /v1/flows/{flow_id}"] == ("not found No run has this Flow ID", "3")
    assert found["POST /v1/commands"] == ("conflict The request lost against another one unique", "1")
    what, times = found["Step Desk.Charge"]
    assert what.startswith("failed The handler of an RPC or Step failed or ran past its timeout Charge.execute")
    assert "ValueError" in what
    assert times == "1"
    assert SECRET not in page


def test_names_are_escaped(client: Client, server: Server) -> None:
    fill(client)
    page = httpx.get(f"{server.url}/").text
    assert "<script>document" not in page
    assert page.count("&lt;script&gt;document") == 2


def test_more_than_are_counted_are_told_as_such(
    client: Client, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(client)
    monkeypatch.setattr(statuspage, "MOST_COUNTED", 1234)
    assert look(server.url).rows["stores"][2][:2] == ["accounts.employees", "1,234+"]


def test_those_who_look_at_once_share_a_look(
    engine: LocalEngine, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often the page is asked for, the engine is not."""
    looks: list[Any] = []
    execute = engine.execute
    monkeypatch.setattr(statuspage, "_VALID_SECONDS", 3600)
    monkeypatch.setattr(engine, "execute", lambda command: looks.append(command) or execute(command))
    for _ in range(5):
        look(server.url)
    assert [type(command) for command in looks] == [ShowOverview]


def test_it_may_load_nothing_but_its_own_files(server: Server) -> None:
    headers = httpx.get(f"{server.url}/").headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy == {
        "default-src": "'none'",
        "style-src": "'self'",
        "script-src": "'self'",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    assert (headers["x-frame-options"], headers["x-content-type-options"]) == ("DENY", "nosniff")
    for path, kind in (("style.css", "text/css"), ("refresh.js", "text/javascript")):
        answer = httpx.get(f"{server.url}/page/{path}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, f"{kind}; charset=utf-8")


TOKEN = "r" * 32


@pytest.fixture
def guarded(serve_on: Serve, tmp_path: Path) -> Server:
    """A server that asks for a token."""
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text(f"- {{name: reader, token: {TOKEN}, scope: read}}\n")
    tokens.chmod(0o600)
    return serve_on(Terms(tokens=Tokens(tokens)))


def basic(token: str) -> str:
    return "Basic " + base64.b64encode(f":{token}".encode()).decode()


@pytest.mark.spec("K-02")
def test_it_asks_for_a_token_that_may_read(guarded: Server) -> None:
    nobody = httpx.get(f"{guarded.url}/")
    assert (nobody.status_code, nobody.headers["www-authenticate"]) == (401, 'Basic realm="dex"')
    assert look(guarded.url, authorization=f"Bearer {TOKEN}").facts
    assert look(guarded.url, authorization=basic(TOKEN)).facts


# In a browser.


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture
def browser(running: Browser) -> Browser:
    running.open_tab()
    return running


# Gives the texts whose contrast with what is behind them is too low to be read by all.
FAINT = """
(() => {
  const parts = colour => (colour.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = element => {
    for (; element; element = element.parentElement) {
      const found = parts(getComputedStyle(element).backgroundColor);
      if (found.length === 3 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const faint = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility()) continue;
    const [a, b] = [light(parts(getComputedStyle(element).color)), light(behind(element))].sort((p, q) => q - p);
    if ((a + 0.05) / (b + 0.05) < 4.5) faint.push(texts.currentNode.data);
  }
  return faint;
})()
"""
TABLES = "[...document.querySelectorAll('table')].map(table => [table.caption.checkVisibility(), table.rows.length])"
HEADINGS = "[...document.querySelectorAll('h1, h2')].map(heading => heading.textContent)"


@needs_chromium
@pytest.mark.parametrize("how", LOOKS)
def test_it_can_be_read(how: str, client: Client, server: Server, browser: Browser) -> None:
    """Light and dark, on a desk and a phone, with scripts and without; names in it do nothing."""
    fill(client)
    fail(client, server.url)
    browser.look(**LOOKS[how])
    browser.visit(f"{server.url}/")
    assert browser.problems == []
    assert browser.evaluate("document.title") == f"dex · {server.engine.path.parent}"
    assert browser.evaluate(HEADINGS) == [
        "dex", "Node", "StateStores", "Feeds", "Flows", "Attribute Stores", "Recent errors",
    ]  # fmt: skip
    assert browser.evaluate(TABLES) == [[True, 4], [True, 3], [True, 3], [True, 2], [True, 4]]
    assert browser.evaluate("document.documentElement.scrollWidth") <= LOOKS[how].get("width", 1200)
    assert browser.evaluate(FAINT) == []


@needs_chromium
def test_without_scripts_it_is_loaded_anew(server: Server, browser: Browser) -> None:
    browser.look(scripts=False)
    browser.visit(f"{server.url}/")
    assert browser.evaluate("document.querySelector('noscript meta[http-equiv=refresh]') !== null")
    browser.look()
    browser.visit(f"{server.url}/")
    assert browser.evaluate("document.querySelector('meta[http-equiv=refresh]') === null")


# Has the script look at once, as it does when the page comes into view again, and tells whether a test then holds.
UNTIL = """
new Promise(done => {
  const look = () => (%s) ? done(true) : setTimeout(look, 20);
  setTimeout(() => done(false), 30000);
  document.dispatchEvent(new Event("visibilitychange"));
  look();
})
"""


@needs_chromium
def test_it_keeps_itself_up_to_date(
    client: Client, server: Server, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statuspage, "_VALID_SECONDS", 0)
    monkeypatch.setattr(statuspage, "_REST_PER_LOOK", 0)
    browser.look()
    browser.visit(f"{server.url}/")
    client.execute(DefineStateStore(name="new-one"))
    assert browser.evaluate(UNTIL % "document.querySelector('main').textContent.includes('new-one')")
    assert browser.problems == []


@needs_chromium
def test_it_says_when_the_server_does_not_answer(server: Server, browser: Browser) -> None:
    browser.look()
    browser.visit(f"{server.url}/")
    assert browser.evaluate("document.getElementById('lost').hidden")
    server.stop()
    assert browser.evaluate(UNTIL % "!document.getElementById('lost').hidden")
    assert browser.evaluate("document.querySelector('main dl') !== null")


@needs_chromium
@pytest.mark.spec("K-02")
def test_a_token_can_be_given_as_a_password(guarded: Server, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a person does whom the browser asks for one: the script uses it too."""
    monkeypatch.setattr(statuspage, "_VALID_SECONDS", 0)
    monkeypatch.setattr(statuspage, "_REST_PER_LOOK", 0)
    browser.look()
    browser.visit(guarded.url.replace("//", f"//:{TOKEN}@") + "/")
    before = browser.evaluate("document.querySelector('header time').dateTime")
    assert browser.evaluate(UNTIL % f"document.querySelector('header time').dateTime !== {before!r}")
    assert browser.problems == []
