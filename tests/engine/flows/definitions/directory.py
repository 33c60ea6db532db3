"""A Flow with RPCs only, written as for the public SDK."""

from dataclasses import dataclass

from dex import (
    Attribute,
    AttributeIndex,
    AttributeMap,
    Channel,
    ChannelMap,
    Context,
    Flow,
    IndexType,
    PersistenceSchema,
    RPCResult,
    rpc,
)


@dataclass
class Profile:
    email_address: str
    full_name: str
    visits: int = 0
    nickname: str | None = None


class Directory(Flow[None]):
    total = Attribute("Total", int, index=AttributeIndex(IndexType.INT))
    owner = Attribute("Owner", Profile, sync_to_attribute_store=True, hard_delete_on_null=True)
    profiles = AttributeMap("Profiles", dict[str, Profile])
    news = Channel("News", str)
    inbox = ChannelMap("Inbox", Profile)

    def get_persistence_schema(self) -> PersistenceSchema:
        return PersistenceSchema.of(self.total, self.owner, self.profiles, self.news, self.inbox)

    @rpc(lock_attributes=(total.lock(),), load_channels=(news,), is_transactional=True)
    def upsert(self, context: Context, profile: Profile) -> RPCResult[Profile]:
        """Add or replace a profile in the bucket `b1`."""
        try:
            bucket = self.profiles.get(context, "b1")
        except KeyError:
            bucket = {}
        bucket[profile.email_address] = profile
        self.profiles.set(context, "b1", bucket)
        return RPCResult(profile)

    @rpc(name="Count")
    async def count(self, context: Context) -> RPCResult[int]:
        return RPCResult(self.total.get(context))
