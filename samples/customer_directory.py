"""Hash-partitioned AttributeMap: customer profiles by email address, without loading the whole directory.

The address decides in which of 1,000 partitions a profile is kept. A call loads and locks that one partition, so its
cost does not grow with the directory, and writes to different partitions run at once.
"""

from dataclasses import dataclass, replace

from dex import (
    AttributeMap,
    Client,
    Context,
    Flow,
    NotFound,
    PersistenceSchema,
    Refused,
    RPCInvokeOptions,
    RPCResult,
    rpc,
)
from dex.engine.lockretry import LockRetry
from dex.samples.open_flow import OpenFlow

FLOW_ID = "customer-directory"

# How many partitions there are is part of the stored layout: another number would move most profiles.
PARTITIONS = 1000
_FNV_OFFSET, _FNV_PRIME = 0x811C9DC5, 0x01000193
_ASCII_WHITESPACE = " \t\n\v\f\r"


@dataclass(frozen=True)
class CustomerProfile:
    """A customer, found by email address."""

    email_address: str
    full_name: str
    company_name: str
    customer_tier: str


def canonical_email(email_address: str) -> str:
    """Give the one spelling of an address: without ASCII white space around it, A to Z in lower case (spec: H-01).

    Raises:
        Refused: it is empty or not ASCII.
    """
    if not email_address.isascii():
        raise Refused(f"the email address {email_address!r} is not ASCII", "write it in ASCII")
    canonical = email_address.strip(_ASCII_WHITESPACE).lower()
    if not canonical:
        raise Refused("an email address cannot be empty", "write one such as bob@example.com")
    return canonical


def fnv1a_32(data: bytes) -> int:
    """Give the 32-bit FNV-1a hash (spec: H-02)."""
    value = _FNV_OFFSET
    for byte in data:
        value = ((value ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return value


def partition_of(canonical: str) -> str:
    """Give the partition of a canonical address, `partition-000` to `partition-999` (spec: H-02)."""
    return f"partition-{fnv1a_32(canonical.encode('ascii')) % PARTITIONS:03}"


class CustomerDirectoryFlow(Flow[None]):
    """The directory: RPCs only, so it is open until it is stopped.

    Who writes must name the partition's lock and load, as `CustomerDirectory` below does. Locks are cooperative: a
    write that names none would race with the others.
    """

    customer_profiles_by_email_partition = AttributeMap("CustomerProfilesByEmailPartition", dict[str, CustomerProfile])

    def get_persistence_schema(self) -> PersistenceSchema:
        """Declare the one AttributeMap; each instance has the profiles of a partition by canonical address."""
        return PersistenceSchema.of(self.customer_profiles_by_email_partition)

    @rpc(name="UpsertCustomerProfile")
    def upsert_customer_profile(self, context: Context, profile: CustomerProfile) -> RPCResult[CustomerProfile]:
        """Add a profile or replace the one of its address; the others of the partition stay (spec: H-03)."""
        email = canonical_email(profile.email_address)
        saved = replace(profile, email_address=email)
        # Computed here again: a caller that has locked another partition must not be believed.
        partition = partition_of(email)
        self.customer_profiles_by_email_partition.set(
            context, partition, {**self._bucket(context, partition), email: saved}
        )
        return RPCResult(saved)

    @rpc(name="GetCustomerProfileByEmail", read_only=True)
    def get_customer_profile_by_email(self, context: Context, email_address: str) -> RPCResult[CustomerProfile]:
        """Give the profile of an address; a missing partition and a missing address are both not found (spec: H-04)."""
        email = canonical_email(email_address)
        profile = self._bucket(context, partition_of(email)).get(email)
        if profile is None:
            raise NotFound(f"there is no customer profile for {email!r}", "upsert it first", email_address=email)
        return RPCResult(profile)

    def _bucket(self, context: Context, partition: str) -> dict[str, CustomerProfile]:
        try:
            return self.customer_profiles_by_email_partition.get(context, partition)
        except KeyError:
            return {}


class CustomerDirectory:
    """How an application uses the directory: it names locks and loads, and tries again what lost a lock."""

    def __init__(self, client: Client, retry: LockRetry | None = None) -> None:
        self.flow = CustomerDirectoryFlow()
        self.run = OpenFlow(client, self.flow, FLOW_ID, "`dex profile start`", retry)

    def upsert(self, profile: CustomerProfile) -> CustomerProfile:
        """Add or replace a profile and give it as it is kept (spec: H-05).

        Raises:
            Refused: the address is not one that has a canonical spelling.
            NotFound: the directory is not started.
            RPCLockConflict: the partition was locked at every attempt.
        """
        partitions = self.flow.customer_profiles_by_email_partition
        partition = partition_of(canonical_email(profile.email_address))
        options = RPCInvokeOptions(
            lock_attribute_map_instances=(partitions.lock(partition),),
            load_attribute_map_instances=(partitions.load(partition),),
        )
        return self.run.write(self.flow.upsert_customer_profile, profile, options)

    def get(self, email_address: str) -> CustomerProfile:
        """Give the profile of an address; takes no lock (spec: H-04).

        Raises:
            Refused: the address is not one that has a canonical spelling.
            NotFound: there is no such profile, or the directory is not started.
        """
        partition = partition_of(canonical_email(email_address))
        load = self.flow.customer_profiles_by_email_partition.load(partition)
        options = RPCInvokeOptions(load_attribute_map_instances=(load,))
        return self.run.read(self.flow.get_customer_profile_by_email, email_address, options)
