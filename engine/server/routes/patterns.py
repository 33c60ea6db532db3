"""The two pattern APIs, with paths and JSON names as their pages write them (spec: H-06, C-06)."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from dex.engine.client import Client
from dex.engine.server.call import Call, Parameter
from dex.engine.server.route import Request, Route
from dex.samples import chunked_subscribers, customer_directory
from dex.samples.chunked_subscribers import CURRENT, ChunkedSubscribers
from dex.samples.customer_directory import CustomerDirectory
from dex.wcl.commands.flowresults import FlowStarted

R = TypeVar("R")

_PROFILES = "/patterns/hash-partitioned-attribute-map"
_SUBSCRIBERS = "/patterns/sequentially-chunked-attribute-map"


class CustomerProfile(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A customer, found by email address."""

    email_address: str
    full_name: str
    company_name: str
    customer_tier: str


class Registration(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Who registers, and where to deliver to."""

    subscriber_id: str
    delivery_address: str


class Subscriber(msgspec.Struct, kw_only=True, rename="camel"):
    """A registration; sequences count from 1 without a gap."""

    sequence: int
    subscriber_id: str
    delivery_address: str


class SubscriberPage(msgspec.Struct, kw_only=True, rename="camel"):
    """One chunk, the newest first; the oldest page has no next token."""

    page_token: str
    subscribers: list[Subscriber]
    next_page_token: str | None


async def _using(request: Request, work: Callable[[Client], R]) -> R:
    """Let an application of the engine work where handlers are called."""
    return await request.dispatcher.call(lambda: work(Client(request.dispatcher.engine)))


async def _start_directory(_call: Call, request: Request) -> FlowStarted:
    return await _using(request, lambda client: CustomerDirectory(client).run.start())


async def _upsert(call: Call, request: Request) -> CustomerProfile:
    profile = customer_directory.CustomerProfile(**msgspec.structs.asdict(call.json(CustomerProfile, _PROFILE)))
    return _told(CustomerProfile, await _using(request, lambda client: CustomerDirectory(client).upsert(profile)))


async def _get_profile(call: Call, request: Request) -> CustomerProfile:
    email = call.get("emailAddress")
    return _told(CustomerProfile, await _using(request, lambda client: CustomerDirectory(client).get(email)))


async def _start_list(_call: Call, request: Request) -> FlowStarted:
    return await _using(request, lambda client: ChunkedSubscribers(client).run.start())


async def _register(call: Call, request: Request) -> Subscriber:
    who = call.json(Registration, _REGISTRATION)
    return _told(
        Subscriber,
        await _using(
            request, lambda client: ChunkedSubscribers(client).register(who.subscriber_id, who.delivery_address)
        ),
    )


async def _page(call: Call, request: Request) -> SubscriberPage:
    token = call.get("pageToken")
    return _told(SubscriberPage, await _using(request, lambda client: ChunkedSubscribers(client).page(token)))


def _told(document: type[R], found: Any) -> R:
    """Give what a pattern's application found as the document of its page."""
    return msgspec.convert(found, document, from_attributes=True)


_PROFILE = CustomerProfile(
    email_address="ann@example.test", full_name="Ann Example", company_name="Example Ltd", customer_tier="gold"
)
_REGISTRATION = Registration(subscriber_id="s-1", delivery_address="ann@example.test")
_SUBSCRIBER = Subscriber(sequence=1, subscriber_id="s-1", delivery_address="ann@example.test")
_RUN_ID = "0190163d-8694-7394-ad9d-1b6a44a0f3b1"

ROUTES = (
    Route(
        method="POST",
        path=f"{_PROFILES}/start",
        summary="Start the customer directory; one that is started stays as it is",
        tag="patterns",
        answer=_start_directory,
        result=FlowStarted,
        result_example=FlowStarted(flow_id=customer_directory.FLOW_ID, run_id=_RUN_ID, started=True),
        scope="write",
        errors=(409,),
    ),
    Route(
        method="PUT",
        path=f"{_PROFILES}/customer-profile",
        summary="Add or replace a profile; tried again for a while where its partition is locked",
        tag="patterns",
        answer=_upsert,
        result=CustomerProfile,
        result_example=_PROFILE,
        scope="write",
        body=CustomerProfile,
        body_example=_PROFILE,
        errors=(404, 409, 412),
    ),
    Route(
        method="GET",
        path=f"{_PROFILES}/customer-profile",
        summary="Read a profile by email address, in any case",
        tag="patterns",
        parameters=(Parameter("emailAddress", str, "The email address.", example="ann@example.test", required=True),),
        answer=_get_profile,
        result=CustomerProfile,
        result_example=_PROFILE,
        errors=(404, 412),
    ),
    Route(
        method="POST",
        path=f"{_SUBSCRIBERS}/start",
        summary="Start the list of subscribers; one that is started stays as it is",
        tag="patterns",
        answer=_start_list,
        result=FlowStarted,
        result_example=FlowStarted(flow_id=chunked_subscribers.FLOW_ID, run_id=_RUN_ID, started=True),
        scope="write",
        errors=(409,),
    ),
    Route(
        method="POST",
        path=f"{_SUBSCRIBERS}/register",
        summary="Append a subscriber; tried again for a while where the list is locked",
        tag="patterns",
        answer=_register,
        result=Subscriber,
        result_example=_SUBSCRIBER,
        scope="write",
        body=Registration,
        body_example=_REGISTRATION,
        errors=(404, 409, 412),
    ),
    Route(
        method="GET",
        path=f"{_SUBSCRIBERS}/subscribers",
        summary="Read one page of subscribers, the newest first",
        tag="patterns",
        parameters=(
            Parameter(
                "pageToken", str, "`current`, or the `nextPageToken` of a page.", default=CURRENT, example=CURRENT
            ),
        ),
        answer=_page,
        result=SubscriberPage,
        result_example=SubscriberPage(page_token=CURRENT, subscribers=[_SUBSCRIBER], next_page_token=None),
        errors=(404, 412),
    ),
)
