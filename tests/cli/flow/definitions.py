"""A Flow file as people write one, for the tests that need Steps, Channels, types of value and a handler that fails."""

TRIP = """
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from dex import *

@dataclass
class Trip:
    trip_id: str
    days: int = 1

count = Attribute("Count", int)
ratio = Attribute("Ratio", float)
when = Attribute("When", datetime)
blob = Attribute("Blob", bytes)
trip = Attribute("Trip", Trip)
anything = Attribute("Any", Any)
notes = AttributeMap("Notes", str)
news = Channel("News", Trip)
inbox = ChannelMap("Inbox", str)

class Pack(Step[Trip]):
    def wait_for(self, context, input):
        return Wait.any_of(news.for_one("news"), Timer.by_duration(timedelta(hours=1), "late"))
    def execute(self, context, input):
        if context.has_timer_fired(0):
            return force_fail("nobody came")
        return go_to(Leave, news.results(context)[0])

class Leave(Step[Trip]):
    def execute(self, context, input):
        count.set(context, input.days)
        context.record_event("left", input.trip_id)
        return graceful_complete(input.days)

class TripFlow(Flow[Trip]):
    def get_steps(self):
        return StepList.start_step(Pack).other_steps(Leave)
    def get_persistence_schema(self):
        return PersistenceSchema.of(count, ratio, when, blob, trip, anything, notes, news, inbox)
    @rpc(lock_attributes=(count,))
    def add(self, context, by: int) -> RPCResult[int]:
        try:
            total = count.get(context) + by
        except KeyError:
            total = by
        count.set(context, total)
        if by == 13:
            raise ValueError("unlucky")
        return RPCResult(total)
    @rpc
    def note(self, context, text: str) -> RPCResult[Trip]:
        notes.set(context, "a/b", text)
        return RPCResult(Trip(text))
    @rpc
    def nothing(self, context) -> RPCResult[None]:
        return RPCResult(None)
    @rpc
    def wrong(self, context) -> RPCResult[int]:
        return 5
"""
