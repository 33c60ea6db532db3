-- The tables of sync.yaml. Run this as their owner; dex itself never creates or alters a table.

-- One row for each order. Every column but the key needs a default or allows null, because a write sets only the
-- columns of what has changed.
CREATE TABLE public.orders (
  order_id text PRIMARY KEY,
  customer_name varchar(200),
  total_cents bigint,
  paid boolean NOT NULL DEFAULT false,
  ordered_at timestamptz,
  details jsonb
);

-- One row for each item. The key is that of the order and the instance's own. Without a foreign key: one that is
-- violated would hold back all the later writes of the Flow.
CREATE TABLE public.order_items (
  order_id text,
  item_key text,
  sku text,
  quantity integer,
  price_cents bigint,
  PRIMARY KEY (order_id, item_key)
);

-- One for each database, whatever the number of stores. It keeps a process that lost its lease from writing.
CREATE TABLE dexzd_attribute_sync_fencing (
  store_name text NOT NULL,
  cluster_id text NOT NULL,
  scope text NOT NULL,
  fencing_token bigint NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (store_name, cluster_id, scope)
);

-- Replace dex by the role that dex connects as, which need not be the owner. DELETE is for items that a Flow deletes.
GRANT SELECT, INSERT, UPDATE ON public.orders TO dex;
GRANT SELECT, INSERT, UPDATE, DELETE ON public.order_items TO dex;
GRANT SELECT, INSERT, UPDATE ON dexzd_attribute_sync_fencing TO dex;
