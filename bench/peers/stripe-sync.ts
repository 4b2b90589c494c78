/** The same rows through @supabase/stripe-sync-engine, as objects of a kind that it stores. */
import pg from 'pg'
import type { PeerPage } from './pages.ts'

type Fields = Readonly<Record<string, unknown>>
/** What is used of it; its types are not installed here. */
export type StripeSyncEngine = {
  readonly runMigrations: (config: {
    readonly databaseUrl: string
    readonly schema: string
  }) => Promise<void>
  readonly StripeSync: new (
    config: object,
  ) => {
    readonly upsertCustomers: (customers: readonly Fields[]) => Promise<unknown>
    readonly postgresClient: { readonly pool: Pick<pg.Pool, 'end' | 'on'> }
  }
}

/**
 * Seconds. The work of one row is comparable: an upsert by its key of the same texts, and of the
 * rest as JSON.
 */
export async function upsertWithStripeSync(
  { runMigrations, StripeSync }: StripeSyncEngine,
  databaseUrl: string,
  pages: readonly PeerPage[],
): Promise<number> {
  await createRole(databaseUrl)
  await runMigrations({ databaseUrl, schema: 'stripe' })
  const poolConfig = { connectionString: databaseUrl, max: 10 }
  const sync = new StripeSync({
    poolConfig,
    schema: 'stripe',
    stripeSecretKey: 'sk_test_none',
    stripeWebhookSecret: 'none',
  })
  // A connection of it may outlive its end, and is cut when the server stops.
  sync.postgresClient.pool.on('error', () => {})
  try {
    const began = performance.now()
    for (const { body } of pages) {
      const { data } = JSON.parse(body.toString()) as {
        readonly data: { readonly items: readonly Fields[] }
      }
      await sync.upsertCustomers(data.items.map(toCustomer))
    }
    return (performance.now() - began) / 1000
  } finally {
    await sync.postgresClient.pool.end()
  }
}

/** Its migrations mention it, and go on without a word if it is missing. */
async function createRole(databaseUrl: string): Promise<void> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  const { rows } = await client.query(`select 1 from pg_roles where rolname = 'postgres'`)
  if (rows.length === 0) await client.query('create role postgres')
  await client.end()
}

function toCustomer({ id, content, senderName, createdAt, ...metadata }: Fields): Fields {
  const created = Math.floor(Date.parse(String(createdAt)) / 1000) || 0
  return {
    id,
    object: 'customer',
    description: content,
    name: senderName,
    created,
    metadata,
    livemode: false,
  }
}
