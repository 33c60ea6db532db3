"""A Flow whose Attributes are also rows in your own PostgreSQL: sync.yaml says where, sync.sql has the tables.

    export DEX_FLOWS=samples/synced_orders.py DEX_SYNC_CONFIG=samples/sync.yaml
    export DEX_ZD_ATTRIBUTE_STORE_DSN_ORDERS=postgresql://dex@localhost/shop
    dex sync check
    dex flow start SyncedOrderFlow order-17 --store orders --attr CustomerName=Ann
    dex flow invoke order-17 add_item --input '{"itemKey": "shoes/42", "sku": "S42", "quantity": 1, "priceCents": 5900}'
    dex sync flush

The Flow ID order-17 is the row with order_id 17, and the item is the row with item_key shoes/42. Commits never wait for
the table: `dex sync run` writes what is marked, usually within a second.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dex import Attribute, AttributeMap, Context, Flow, PersistenceSchema, RPCResult, rpc


@dataclass
class Item:
    """A line of an order; each field is a column of the instance table."""

    sku: str
    quantity: int
    price_cents: int


@dataclass
class AddedItem(Item):
    """What `add_item` takes: an item, and the key of its instance."""

    item_key: str


class SyncedOrderFlow(Flow[None]):
    """One order. What is not marked to be synced stays in the Flow."""

    customer_name = Attribute("CustomerName", str, sync_to_attribute_store=True)
    total_cents = Attribute("TotalCents", int, sync_to_attribute_store=True)
    paid = Attribute("Paid", bool, sync_to_attribute_store=True)
    ordered_at = Attribute("OrderedAt", datetime, sync_to_attribute_store=True)
    details = Attribute("Details", dict[str, Any], sync_to_attribute_store=True)
    items = AttributeMap("Items", Item, sync_to_attribute_store=True)
    notes = Attribute("Notes", str)

    def get_persistence_schema(self) -> PersistenceSchema:
        """Declare all that the Flow uses."""
        return PersistenceSchema.of(
            self.customer_name, self.total_cents, self.paid, self.ordered_at, self.details, self.items, self.notes
        )

    @rpc(lock_attributes=(total_cents,))
    def add_item(self, context: Context, added: AddedItem) -> RPCResult[int]:
        """Add an item and give the new total: one commit, and later one transaction over both tables."""
        total = self._total(context) + added.price_cents * added.quantity
        self.items.set(context, added.item_key, Item(added.sku, added.quantity, added.price_cents))
        self.total_cents.set(context, total)
        return RPCResult(total)

    @rpc
    def pay(self, context: Context, _: None) -> RPCResult[None]:
        """Mark the order as paid."""
        self.paid.set(context, True)  # noqa: FBT003 - a value, not a switch
        return RPCResult(None)

    def _total(self, context: Context) -> int:
        try:
            return self.total_cents.get(context)
        except KeyError:
            return 0
