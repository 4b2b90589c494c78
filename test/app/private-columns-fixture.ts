/** A project whose columns are private, and a search for their values in all that is stored. */

import { pino } from 'pino'
import type { DatabaseKind } from '../../schema/column-types.ts'
import { listStreamNames, streamNames } from '../../schema/stream-specs.ts'
import { checkProject } from '../../src/app/check.ts'
import { readNow } from '../../src/app/read-now.ts'
import { syncProject } from '../../src/app/sync.ts'
import { verifyProject } from '../../src/app/verify.ts'
import { verifyPrivate } from '../../src/app/verify-private.ts'
import type { ProjectConfig } from '../../src/config/config.ts'
import { asJsonObject } from '../../src/values/json.ts'
import type { ColumnRule } from '../../src/values/private-columns.ts'
import { secret } from '../../src/values/secret.ts'
import { configOf, projectConfigOf } from '../mirror/sync/sync-sandbox.ts'
import { createOutboxFixture, type OutboxFixtureOptions } from '../outbox/outbox-fixture.ts'
import { readStoredBytes } from './stored-bytes.ts'

export const rule = (name: string, action: ColumnRule['action']): ColumnRule => {
  const [stream = '', ...path] = name.split('.')
  return { stream, path: path.join('.'), action }
}
export const rules = {
  all: [
    rule('visitors.name', 'block'),
    rule('visitors.email', 'hash'),
    rule('visitors.company', 'block'),
    rule('visitors.custom_fields.seats', 'hash'),
    rule('messages.content', 'block'),
    rule('messages.sender_display_name', 'hash'),
    rule('visitor_activity.url', 'block'),
    rule('*.metadata', 'block'),
    rule('visitor_activity.title', 'hash'),
  ],
  none: [],
} as const

export const hashKey = secret('a key of the installation')

/** `lines`: of the log. */
export async function createPrivateFixture(
  database: DatabaseKind,
  options: OutboxFixtureOptions = {},
) {
  const fixture = await createOutboxFixture({
    database,
    mirrored: false,
    size: {
      conversations: 12,
      visitors: 6,
      calls: 4,
      messagesPerConversation: [1, 6],
      activityPerVisitor: 2,
      days: 2,
    },
    ...options,
  })
  const { instance, sandbox, warehouse } = fixture
  // The template of the file has had the rows of such a sandbox.
  for (const statement of database === 'sqlite'
    ? ['vacuum', 'pragma wal_checkpoint(truncate)']
    : [])
    await warehouse.query(statement)
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
  const projectWith = (columns: readonly ColumnRule[], over: Partial<ProjectConfig> = {}) =>
    projectConfigOf(sandbox, {
      columns,
      hashKey,
      verifyAfterMs: 200,
      history: listStreamNames,
      ...over,
    })
  const common = { signal: new AbortController().signal, log, onProgress: () => {} }
  const sync = (
    columns: readonly ColumnRule[],
    over: Partial<Parameters<typeof syncProject>[2]> & {
      key?: typeof hashKey
      mirrored?: ProjectConfig['streams']
      loadedAt?: number
    } = {},
  ) => {
    const { key = hashKey, mirrored = streamNames, loadedAt = Date.now(), ...options } = over
    const project = projectWith(columns, { hashKey: key, streams: mirrored, loadedAt })
    return syncProject(configOf(instance.url, project), project, {
      ...common,
      mode: 'incremental',
      streams: streamNames,
      wait: false,
      onBudget: () => {},
      ...options,
    })
  }
  const verify = (columns: readonly ColumnRule[]) =>
    verifyProject(configOf(instance.url, projectWith(columns)), projectWith(columns), {
      ...common,
      streams: streamNames,
      limit: 9,
    })
  const check = (columns: readonly ColumnRule[], over: Partial<ProjectConfig> = {}) => {
    const project = projectWith(columns, over)
    return checkProject(configOf(instance.url, project), project, common)
  }
  const checkColumns = async (...settings: Parameters<typeof check>) =>
    (await check(...settings)).filter(({ name }) => name === 'stored columns')
  const readVisitorNow = (columns: readonly ColumnRule[], id: string) => {
    const project = projectWith(columns)
    return readNow(configOf(instance.url, project), project, 'visitors', id, log)
  }
  const readAll = async () => {
    const rows = database === 'sqlite' ? [] : await tablesAsText(warehouse.query)
    const texts = [...lines, ...rows.map(({ text }) => text)].join('\n')
    return Buffer.concat([Buffer.from(texts), await readStoredBytes(instance, warehouse.query)])
  }
  /** The private values of the service: all that is long enough to be no chance. */
  const secrets = () => {
    const values = new Set<string>()
    const add = (value: unknown) => {
      if (typeof value === 'string' && value.length > 7 && /[\s@/]/.test(value)) values.add(value)
    }
    for (const { row } of sandbox.truth('visitors')) {
      const { name, email, company } = asJsonObject(row) ?? {}
      for (const value of [name, email, company]) add(value)
    }
    for (const { row } of sandbox.truth('messages')) add(asJsonObject(row)?.content)
    for (const { row } of sandbox.truth('visitor_activity')) add(asJsonObject(row)?.url)
    return [...values]
  }
  return {
    ...fixture,
    sync,
    verify,
    check,
    checkColumns,
    readVisitorNow,
    secrets,
    projectWith,
    lines,
    verifyPrivate: (columns: readonly ColumnRule[]) =>
      verifyPrivate(configOf(instance.url, projectWith(columns)), projectWith(columns), common),
    /** Those that are stored anywhere. */
    leaks: async (texts = secrets()) => {
      const all = await readAll()
      return texts.filter((text) => all.includes(text))
    },
  }
}

type Query = (text: string) => Promise<readonly Record<string, unknown>[]>

async function tablesAsText(query: Query) {
  const tables = await query(
    `select relname as name from pg_class where relnamespace = cast(current_schema() as regnamespace) and relkind = 'r'`,
  )
  const found: Record<string, unknown>[] = []
  for (const { name } of tables)
    found.push(...(await query(`select cast(t as text) as text from "${String(name)}" t`)))
  return found
}
