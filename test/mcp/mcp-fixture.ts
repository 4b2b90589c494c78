/**
 * A mirror of the sandbox in one of the databases, as a person has it who connects an assistant.
 */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { grantToAnalyst } from '../../src/analytics/sql/grant.ts'
import type { Warehouse } from '../../src/app/open.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { syncOnce } from '../mirror/sync/sync-sandbox.ts'
import type { DatabaseInstance, TestDatabase } from '../support/databases.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { connectMcp, type McpClient } from './mcp-client.ts'

type AtEnd = (work: () => void | Promise<void>) => void

export type McpFixture = {
  readonly service: Sandbox
  readonly database: DatabaseInstance
  readonly warehouse: Warehouse
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  /** With more arguments of the command, and other variables. */
  readonly connect: (
    args?: readonly string[],
    env?: Readonly<Record<string, string>>,
  ) => Promise<McpClient>
}

const size = {
  conversations: 40,
  visitors: 20,
  calls: 10,
  messagesPerConversation: [1, 6],
  days: 20,
} as const

/** `atEnd`: when what it opened is closed. */
export async function openMcpFixture(
  db: TestDatabase,
  atEnd: AtEnd = onTestFinished,
): Promise<McpFixture> {
  const service = await startSandbox({ size, prefix: '/v1', switches: { 'rate.kind': 'off' } })
  atEnd(() => service.stop())
  const database = await db.makeForSandbox()
  atEnd(() => database.drop())
  await syncOnce(database.url, service)
  const warehouse = await database.open()
  const folder = createTempFolder(atEnd)
  const env = {
    DESKMIRROR_BASE_URL: service.baseUrl,
    DESKMIRROR_PROJECT_ID: service.projectId,
    DESKMIRROR_API_KEY: service.key,
    DESKMIRROR_DATABASE_URL: database.url,
    ...(database.kind === 'postgres'
      ? { DESKMIRROR_ANALYST_DATABASE_URL: await createAnalyst(warehouse, database, atEnd) }
      : {}),
  }
  const connect: McpFixture['connect'] = async (args = ['--as', 'ann'], more = {}) => {
    const mcp = await connectMcp(args, { cwd: folder, env: { ...env, ...more } })
    atEnd(mcp.close)
    return mcp
  }
  return { service, database, warehouse, folder, env, connect }
}

/** The address of a role that may read what analysts may, and nothing else. */
async function createAnalyst(
  { query, db, kind }: Warehouse,
  { url }: DatabaseInstance,
  atEnd: AtEnd,
) {
  const role = `analyst_${randomUUID().slice(0, 8)}`
  await query(`create role ${role} login password 'secret'`)
  await grantToAnalyst(db, kind, role)
  atEnd(() => runAs(url, `drop owned by ${role}; drop role ${role}`))
  const address = new URL(url)
  address.username = role
  address.password = 'secret'
  return address.href
}

export async function runAs(url: string, statement: string): Promise<void> {
  const address = new URL(url)
  address.searchParams.delete('schema')
  const client = new pg.Client({ connectionString: address.href })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}
