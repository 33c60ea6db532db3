"""What a node refuses to start with, and what it says to do."""

from contextlib import closing

import pytest

from dex.engine.cluster.monitors import SyncWatch, check_sync
from dex.engine.cluster.servers import JournalServers
from dex.engine.cluster.settings import monitor_of, parse_node, parse_servers
from dex.engine.local import LocalEngine
from dex.wcl.commands import DefineStateStore
from dex.wcl.errors import FailedPrecondition, InputError, Refused
from tests.directories import fast_directory
from tests.engine.cluster.conftest import check_equal, eventually, on_servers, store_on
from tests.engine.cluster.test_snapshots import HERE


@pytest.fixture
def used(cluster):
    """A cluster with a node that has applied some rows, and was stopped."""
    store = store_on(cluster.join("a"))
    for i in range(20):
        store.put(f"k{i}", "v", {"u": i})
    cluster.leave("a")
    return cluster


@pytest.mark.spec("K-03")
@pytest.mark.parametrize(("what", "told"), [("partitions", 3), ("replicas", 1)])
def test_another_number_of_partitions_or_replicas_than_the_clusters(used, what, told):
    with pytest.raises(FailedPrecondition, match=rf"has {2 if what == 'partitions' else 3} {what}.*told {told}.*start"):
        used.join("b", **{what: told})


@pytest.mark.spec("K-03")
def test_a_data_directory_of_another_cluster_or_of_none_that_it_names(used, journal_servers):
    used.join("other", name=f"{used.name}-other")
    with pytest.raises(
        FailedPrecondition, match=r"belongs to cluster \w+, and these .* have cluster \w+; name another"
    ):
        used.join("a", name=f"{used.name}-other")
    (used.folder / "a" / "cluster.json").unlink()
    with pytest.raises(FailedPrecondition, match="does not name"):
        used.join("a")


@pytest.mark.spec("K-03")
def test_a_data_directory_whose_cluster_was_edited(used):
    path = used.folder / "a" / "cluster.json"
    right = path.read_text()
    path.write_text(right.replace('"partitions":2', '"partitions":7'))
    with pytest.raises(
        FailedPrecondition, match=r"was edited: it has 7 partitions .*cluster has 2 and 3; put \{"
    ) as caught:
        used.join("a")
    assert right in caught.value.remedy


@pytest.mark.spec("K-08", "X-03")
def test_a_file_of_a_node_that_is_damaged(used):
    """A node needs no backup: all of it is with the others."""
    for path in (used.folder / "a" / "partition-0").iterdir():
        path.write_bytes(b"this is a letter to a friend\n" * 200)
    with pytest.raises(Refused, match=r"dex.db is damaged.*a node of a cluster reads all anew into an empty one"):
        used.join("a")


@pytest.mark.spec("K-03", "X-03")
@pytest.mark.parametrize(
    "text",
    [
        "http://a",
        "a:4222",
        "nats://",
        "nats://a:x",
        "nats://a,",
        "nats://a?monitor=x",
        "nats://u:secret@",
        "nats://a:0",
    ],
)
def test_what_is_no_address_of_a_journal_server(text):
    """Nothing is connected to, and no password shown."""
    with pytest.raises(InputError, match=r"is not a journal server's address: .*; write nats://") as caught:
        parse_servers(text)
    assert "secret" not in str(caught.value)


@pytest.mark.spec("K-03", "X-03")
def test_an_option_of_an_address_that_is_misspelt():
    """It would leave a journal server unwatched."""
    with pytest.raises(InputError, match=r"has an option that journal servers have not: 'montor'.*\?monitor=PORT"):
        parse_servers("nats://a?montor=8333")


@pytest.mark.spec("K-09", "X-03")
@pytest.mark.parametrize("name", ["a b", ".", "a.", "", "ü", "a/b", "n*", "n>", "a" * 64, "a\n"])
def test_what_cannot_be_the_name_of_a_node(name):
    """It is part of the keys of leases."""
    with pytest.raises(InputError, match=r"cannot be a node's name; use up to 63 letters"):
        parse_node(name)


@pytest.mark.spec("K-09")
@pytest.mark.parametrize("name", ["a", "N1", "node-1", "node_1", "db1.example.com", "a" * 63])
def test_what_may_be_the_name_of_a_node(name):
    assert parse_node(name) == name


@pytest.mark.spec("K-03")
def test_a_data_directory_that_another_node_uses(used):
    used.join("a")
    with pytest.raises(Refused, match=r"another node uses .*; stop that one"):
        used.join("a")


@pytest.mark.spec("K-03")
def test_a_data_directory_of_an_embedded_engine(cluster):
    """The node would serve nothing of it."""
    folder = cluster.folder / "a"
    with closing(LocalEngine(folder)) as engine:
        engine.execute(DefineStateStore(name="people"))
    with pytest.raises(Refused, match=r"a/dex.db has the data of an embedded engine.*; name another --data-dir"):
        cluster.join("a")
    assert not (folder / "cluster.json").exists()


@pytest.mark.spec("K-03")
@pytest.mark.parametrize("place", [".", "partition-0"])
def test_an_embedded_engine_in_the_data_directory_of_a_node(used, place):
    """It would see nothing of what the node has, or write past the journal."""
    folder = used.folder / "a" / place
    with pytest.raises(Refused, match=r"/a is the data directory of a cluster's node.*; ask a node: --endpoint"):
        LocalEngine(folder)
    assert not (used.folder / "a" / "dex.db").exists()


@pytest.mark.spec("K-07")
def test_a_node_name_that_another_process_uses(used):
    used.join("a")
    with pytest.raises(Refused, match="node name 'a' is in use"):
        used.join("twin", node="a")


@pytest.mark.spec("K-08")
def test_a_stream_that_somebody_purged_beyond_what_a_node_has(used, journal_servers):
    name = f"{used.name}-journal-{HERE}"
    store_on(used.join("b")).put("more", "v")
    used.leave("b")
    on_servers(journal_servers, lambda js: js.purge_stream(name))
    with pytest.raises(
        FailedPrecondition, match=r"begins at message \d+, this node has applied \d+, and there is no snapshot"
    ):
        used.join("a")
    node = used.join("b")
    node.snapshot()
    used.join("a")
    check_equal(used)


@pytest.mark.spec("K-08")
@pytest.mark.parametrize("limit", ["max_msgs", "max_msg_size"])
def test_a_stream_that_somebody_edited(used, journal_servers, limit):
    async def edit(js):
        config = (await js.stream_info(f"{used.name}-journal-0")).config
        await js.update_stream(config.evolve(**{limit: 100}))

    on_servers(journal_servers, edit)
    with pytest.raises(FailedPrecondition, match=rf"{limit} 100, and -1 is needed; somebody edited it"):
        used.join("a")


@pytest.mark.spec("K-03")
def test_credentials_that_the_journal_servers_do_not_know(cluster, journal_servers):
    wrong = tuple(url.replace("dex:", "dex:x") for url in journal_servers.urls)
    with pytest.raises(Refused, match="refuse the credentials") as caught:
        cluster.join("a", servers=wrong)
    assert "dex:x" not in str(caught.value)
    assert all(
        f"127.0.0.1:{server.port}?monitor={server.monitor} user 'dex'" in str(caught.value)
        for server in journal_servers.servers
    )


@pytest.mark.spec("K-03")
def test_journal_servers_that_do_not_sync_each_write_or_do_not_tell():
    with fast_directory() as folder:
        servers = JournalServers(folder)
        for server in servers.servers:
            path = server.folder / "server.conf"
            path.write_text(path.read_text().replace("sync_interval: always,", ""))
        try:
            servers.start()
            with pytest.raises(FailedPrecondition, match=r"may lose what it has ack.*set `sync_interval: always`"):
                check_sync(servers.urls)
            silent = [url.partition("?")[0] + "?monitor=1" for url in servers.urls]
            with pytest.raises(FailedPrecondition, match=r"does not tell at http://127.0.0.1:1/varz.*monitor=PORT"):
                check_sync(silent)
        finally:
            servers.stop()


@pytest.mark.spec("K-03")
def test_a_journal_server_that_comes_up_later_and_does_not_sync_is_told_of_once(caplog):
    with fast_directory() as folder:
        servers = JournalServers(folder)
        late = servers.servers[0]
        path = late.folder / "server.conf"
        path.write_text(path.read_text().replace("sync_interval: always,", ""))
        watch = SyncWatch([late.url], 0.01)
        watch.start()
        try:
            servers.start()
            eventually(lambda: bool(caplog.messages))
        finally:
            servers.stop()
            watch.close()
    (told,) = [message for message in caplog.messages if "may lose what it has acknowledged" in message]
    assert "set `sync_interval: always`" in told


@pytest.mark.spec("K-04")
def test_a_journal_server_that_is_down_is_no_reason(journal_servers):
    down = "nats://dex:x@127.0.0.1:9?monitor=9"
    check_sync([down, *journal_servers.urls])


@pytest.mark.parametrize(
    ("server", "monitor"),
    [
        ("nats://u:p@a.example", "http://a.example:8222"),
        ("nats://a.example:4223", "http://a.example:8222"),
        ("nats://[::1]:4222?monitor=9000", "http://[::1]:9000"),
    ],
)
def test_where_a_journal_server_tells_of_itself(server, monitor):
    assert monitor_of(server) == monitor
