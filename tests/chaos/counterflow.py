"""A Flow that counts under a lock, and whose count is synced."""

from dex import Attribute, Context, Flow, PersistenceSchema, RPCResult, rpc

COUNT = Attribute("Count", int, sync_to_attribute_store=True)


class Counter(Flow[None]):
    """Counts how often it was told to."""

    def get_persistence_schema(self) -> PersistenceSchema:
        return PersistenceSchema.of(COUNT)

    @rpc(lock_attributes=(COUNT,))
    def count(self, context: Context, _: None) -> RPCResult[int]:
        try:
            count = COUNT.get(context) + 1
        except KeyError:
            count = 1
        COUNT.set(context, count)
        return RPCResult(count)
