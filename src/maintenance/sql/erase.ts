/**
 * Erases a visitor: rows, conversations, calls, facts and searched words, and the words of their
 * write-backs. The ids stay in `erased_ids`, so that the database stores no row of them again. They
 * are stored with the deletion, so the same command continues one that was killed.
 */
import { type RawBuilder, sql } from 'kysely'
import { analyticsTables } from '../../../schema/analytics-tables.ts'
import { type ErasedId, erasedTables, historyTable } from '../../../schema/mirror-tables.ts'
import { namesAny } from '../../../schema/row-owners.ts'
import { type ListStreamName, listStreamNames, streamSpecs } from '../../../schema/stream-specs.ts'
import { writeCallFields } from '../../analytics/sql/reference-tables.ts'
import { removeSearchEntries } from '../../analytics/sql/search-index.ts'
import type { AnalyticsSettings } from '../../config/analytics-settings.ts'
import { gapKeysOf } from '../../mirror/sql/sync-state.ts'
import { createOutbox } from '../../outbox/sql/outbox.ts'
import { toTimestamp } from '../../values/time.ts'
import { UserError } from '../../values/user-error.ts'
import { appendEvent } from '../../warehouse/audit-log.ts'
import {
  batchesOf,
  countRowsOf,
  inAnyCase,
  inList,
  listParameter,
  quoteText,
} from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { inDurableTransaction } from '../../warehouse/transactions.ts'
import { createValueCollector, type ErasedValues } from '../core/erased-values.ts'

/** Rows by table. */
export type ErasedRows = Readonly<Record<string, number>>

/** `calls`: the setting that names the fields of calls. */
type Erasure = Pick<AnalyticsSettings, 'calls'> & { readonly visitor: string }

/**
 * What `erase` would delete. Throws UserError if nothing is stored of the visitor, nor was erased.
 */
export async function countErased(context: ProjectDb, erasure: Erasure) {
  const { rows, erasedBefore } = await readStored(context, erasure)
  return { rows, isRepeated: erasedBefore.length > 0 }
}

/** `erasedBefore`: ids of the visitor, by earlier erasures. */
async function readStored(context: ProjectDb, erasure: Erasure) {
  const { db } = context
  const { visitor } = erasure
  const ids = await findIds(context, erasure)
  const rows = await countParts(context, [
    ...partsOf(context, ids, erasure),
    { table: 'writebacks', where: writebacksOf(context, ids) },
  ])
  const { rows: erased } = await sql<{ id: string }>`
    select id from erased_ids where ${isErasedWith(context, visitor)}`.execute(db)
  if (erased.length === 0 && Object.keys(rows).length === 0)
    throw new UserError({
      what: 'nothing was erased',
      why: `nothing is stored of the visitor ${visitor}`,
      next:
        'check the id: `deskmirror export visitors` lists all, and a ' +
        'visitor may be in another project',
      exitCode: 2,
    })
  return { ids, rows, erasedBefore: erased.map(({ id }) => id) }
}

/** In the spellings of the service. `visitors`: the visitor, in all spellings. */
type Ids = Readonly<Record<ListStreamName, readonly string[]>>

/** The rows of a list are those that name a row of another one that is erased. */
async function findIds(context: ProjectDb, erasure: Erasure): Promise<Ids> {
  const { db, project } = context
  const { rows: stored } = await sql<{ id: string }>`select id from visitors
    where project_id = ${project} and lower(id) = ${erasure.visitor.toLowerCase()}`.execute(db)
  const visitors = inAnyCase([erasure.visitor, ...stored.map(({ id }) => id)])
  const found: Partial<Record<ListStreamName, readonly string[]>> = { visitors }
  const find = async (list: ListStreamName): Promise<void> => {
    if (found[list] !== undefined) return
    const { table } = streamSpecs[list]
    const naming = (erasedTables[table] ?? []).filter((id) => id.list !== list)
    for (const id of naming) await find(id.list)
    const { rows } = await sql<{ id: string }>`select id from ${sql.table(table)}
      where project_id = ${project} and
      (${hasAnyId(context, table, naming, erasure, found)})`.execute(db)
    found[list] = rows.map(({ id }) => id)
  }
  for (const list of listStreamNames) await find(list)
  return found as Ids
}

/** The setting may have changed since it was stored for the triggers. */
function hasAnyId(
  { kind }: ProjectDb,
  table: string,
  ids: readonly ErasedId[],
  { calls }: Erasure,
  of: Partial<Ids>,
): RawBuilder<unknown> {
  const paths: Readonly<Record<string, string | null>> = calls
  const setting = (column: string) => {
    const path = paths[column] ?? null
    return path === null ? 'cast(null as text)' : quoteText(path)
  }
  // The condition is text with marks, at which the lists become parameters.
  const lists: RawBuilder<unknown>[] = []
  const inIds = (list: ListStreamName, isLowered: boolean) => {
    const values = of[list] ?? []
    const number =
      lists.push(inList(kind, isLowered ? values.map((id) => id.toLowerCase()) : values)) - 1
    return `${mark}${number}${mark}`
  }
  const parts = namesAny(kind, ids, { row: table, setting }, inIds).split(mark)
  return sql.join(
    parts.map((part, n) => (n % 2 === 0 ? sql.raw(part) : (lists[Number(part)] ?? sql``))),
    sql``,
  )
}

const mark = '\u0000'

function partsOf(context: ProjectDb, ids: Ids, erasure: Erasure) {
  const { kind } = context
  const { visitors, conversations } = ids
  const all = Object.values(ids).flat()
  const part = (table: string, column: string, some: readonly string[]) => {
    return { table, where: sql`${sql.ref(column)} ${inList(kind, some)}` }
  }
  return [
    ...Object.entries(erasedTables).map(([table, named]) => {
      // The ids of a list's rows have been found by the others.
      const own = named.filter(({ list }) => streamSpecs[list].table === table)
      return { table, where: hasAnyId(context, table, own.length > 0 ? own : named, erasure, ids) }
    }),
    ...Object.entries(analyticsTables).flatMap(([table, { columns }]) => {
      if ('conversation_id' in columns) return [part(table, 'conversation_id', conversations)]
      return 'visitor_id' in columns ? [part(table, 'visitor_id', visitors)] : []
    }),
    part('facts_due', 'id', all),
    part('sync_children', 'parent_id', all),
    part('sync_seen_rows', 'id', all),
    { table: 'sync_gaps', where: isGapOfAny(kind, all) },
  ]
}

/** By the keys that are made of an id; a key that is a reason may mention one. */
function isGapOfAny(kind: ProjectDb['kind'], ids: readonly string[]): RawBuilder<unknown> {
  const key = sql.ref('dedup_key')
  const keys = ids.flatMap(gapKeysOf).map((one) => one.toLowerCase())
  const isKey = sql`lower(${key}) ${inList(kind, keys)}`
  return sql`${isKey} or (${key} like 'reason:%' and ${mentionsAny(kind, key, ids)})`
}

/** By a list: SQLite takes no condition of more than a thousand parts. */
function mentionsAny(
  kind: ProjectDb['kind'],
  text: RawBuilder<unknown>,
  ids: readonly string[],
): RawBuilder<unknown> {
  const place = sql.raw(kind === 'sqlite' ? 'instr' : 'strpos')
  const listed = listParameter(
    kind,
    ids.map((id) => id.toLowerCase()),
  )
  return sql`exists (select 1 from ${listed} as listed
    where ${place}(lower(${text}), listed.value) > 0)`
}

/**
 * The numbers of an audit stay, without what differed, and what is known of the service, without
 * the evidence: earlier versions named a row there.
 */
async function eraseMentions({ db, kind, project }: ProjectDb, ids: Ids): Promise<void> {
  const isIn = (column: string) =>
    mentionsAny(kind, sql`cast(${sql.ref(column)} as text)`, Object.values(ids).flat())
  await sql`update sync_audits set differences = null where project_id = ${project}
    and ${isIn('differences')}`.execute(db)
  await sql`update service_behaviours set evidence = 'a row that was erased'
    where project_id = ${project} and ${isIn('evidence')}
      and (evidence like 'the row %' or evidence like '% exists and its %')`.execute(db)
}

function writebacksOf(
  { kind, project }: ProjectDb,
  { visitors, conversations }: Ids,
): RawBuilder<unknown> {
  const lane = (target: string) => (id: string) => `${target}/${id.toLowerCase()}`
  const lanes = [...visitors.map(lane('visitor')), ...conversations.map(lane('conversation'))]
  return sql`project_id = ${project} and lane ${inList(kind, lanes)}`
}

/** By table; those without rows are left out. */
export async function countParts(
  { db, project }: Pick<ProjectDb, 'db' | 'project'>,
  parts: readonly { readonly table: string; readonly where: RawBuilder<unknown> }[],
): Promise<ErasedRows> {
  const counted: Record<string, number> = {}
  for (const { table, where } of parts) {
    const from = sql`${sql.table(table)} where project_id = ${project} and (${where})`
    const found = await countRowsOf(db, from)
    if (found > 0) counted[table] = found
  }
  return counted
}

/** `tables`: that had rows. `isRepeated`: of the values of an earlier run only ids are known. */
export type Erased = {
  readonly rows: ErasedRows
  readonly isRepeated: boolean
  readonly values: ErasedValues
  readonly tables: readonly string[]
}

/** Recorded in the audit log, without who it was. */
export async function erase(context: ProjectDb, erasure: Erasure, by: string): Promise<Erased> {
  const { db, kind } = context
  // What is deleted is overwritten in the file.
  if (kind === 'sqlite') await sql`pragma secure_delete = on`.execute(db)
  return inDurableTransaction(context, async (trx) => {
    await waitForWriters(trx)
    await writeCallFields(trx, erasure)
    const { ids, rows, erasedBefore } = await readStored(trx, erasure)
    const isRepeated = erasedBefore.length > 0
    await rejectInFlight(trx, ids)
    const values = await collectValues(trx, ids, erasure, erasedBefore)
    await storeErasedIds(trx, ids, erasure)
    await createOutbox(trx).erase(writebacksOf(trx, ids), by)
    await removeSearchEntries(trx, ids.conversations)
    const parts = partsOf(trx, ids, erasure)
    for (const { table, where } of parts)
      await sql`delete from ${sql.table(table)} where project_id = ${trx.project}
        and (${where})`.execute(trx.db)
    await eraseMentions(trx, ids)
    const count = Object.values(rows).reduce((sum, some) => sum + some, 0)
    const detail = isRepeated ? 'by the command line, once more' : 'by the command line'
    const event = { action: 'visitor_erased', subject: null, count, detail }
    await appendEvent(
      trx.db,
      { project: trx.project, person: by, role: 'approver', ...event },
      trx.clock(),
    )
    return {
      rows,
      isRepeated,
      values,
      tables: [...new Set([...parts.map(({ table }) => table), ...changedTables])],
    }
  })
}

async function storeErasedIds(trx: ProjectDb, ids: Ids, { visitor }: Erasure): Promise<void> {
  const all = new Set(
    Object.values(ids).flatMap((some) => some.map((id: string) => id.toLowerCase())),
  )
  const own = trx.typed('text', visitor.toLowerCase())
  await sql`
    insert into erased_ids (project_id, id, visitor_id)
    select ${trx.typed('text', trx.project)}, listed.value, ${own}
    from ${listParameter(trx.kind, [...all])} as listed where true on conflict do nothing`.execute(
    trx.db,
  )
  await sql`update erased_ids set searched_at = null where ${isErasedWith(trx, visitor)}`.execute(
    trx.db,
  )
}

/** Files and statistics have been cleaned and searched. */
export async function finishErasure(context: ProjectDb, { visitor }: Erasure): Promise<void> {
  await sql`
    update erased_ids set searched_at = ${toTimestamp(context.clock())}
    where ${isErasedWith(context, visitor)}`.execute(context.db)
}

const isErasedWith = ({ project }: ProjectDb, visitor: string) =>
  sql`project_id = ${project} and visitor_id = ${visitor.toLowerCase()}`

/** The visitors whose erasure was killed before its end; `''`: that of the whole project. */
export async function listUnfinishedErasures({
  db,
  project,
}: Pick<ProjectDb, 'db' | 'project'>): Promise<readonly string[]> {
  const { rows } = await sql<{ visitor: string }>`
    select distinct visitor_id as visitor from erased_ids
    where project_id = ${project} and visitor_id is not null and searched_at is null
    union all select '' from erased_ids
    where project_id = '' and id = ${project} and searched_at is null
    order by visitor`.execute(db)
  return rows.map(({ visitor }) => visitor)
}

/** Beside the parts. */
const changedTables = [
  'writebacks',
  'writeback_events',
  'search_words',
  'search_conversations',
  'sync_audits',
  'service_behaviours',
]

/** The tables with what a visitor is called, now and before. */
export const ofVisitors: readonly string[] = ['visitors', historyTable('visitors')]

/** So many conversations are read at once. */
const conversationsPerRead = 20

async function collectValues(
  trx: ProjectDb,
  ids: Ids,
  erasure: Erasure,
  erasedBefore: readonly string[],
): Promise<ErasedValues> {
  const { db, kind, project } = trx
  const collector = createValueCollector(project)
  for (const id of [...Object.values(ids).flat(), ...erasedBefore]) collector.addId(id)
  const read = async (table: string, where: RawBuilder<unknown>) => {
    const { rows } = await sql<Readonly<Record<string, unknown>>>`
      select * from ${sql.table(table)} where project_id = ${project} and (${where})`.execute(db)
    for (const row of rows) collector.addRow(row, ofVisitors.includes(table))
  }
  // The visitor first: an address in what they wrote is theirs as well.
  for (const table of ofVisitors) await read(table, sql`id ${inList(kind, ids.visitors)}`)
  for (const batch of batchesOf(ids.conversations, conversationsPerRead))
    await read('message_rows', sql`conversation_id ${inList(kind, batch)}`)
  const isMirrored = ({ table }: { readonly table: string }) =>
    table in erasedTables && !ofVisitors.includes(table) && table !== 'message_rows'
  for (const { table, where } of partsOf(trx, ids, erasure).filter(isMirrored))
    await read(table, where)
  await read('writebacks', writebacksOf(trx, ids))
  return collector.result()
}

/**
 * What a sync is storing now would be committed after it was looked for. Enables the triggers that
 * refuse what was erased, which SQLite always does.
 */
async function waitForWriters({ db, kind }: ProjectDb): Promise<void> {
  if (kind === 'sqlite') return
  const locked = sql.join(
    [...Object.keys(erasedTables), 'writebacks'].map((table) => sql.table(table)),
  )
  await sql`lock table ${locked} in share row exclusive mode`.execute(db)
  for (const table of Object.keys(erasedTables))
    await sql`alter table ${sql.table(table)} enable trigger ${sql.ref(`${table}_erased`)}`.execute(
      db,
    )
}

async function rejectInFlight(trx: ProjectDb, ids: Ids): Promise<void> {
  const { rows } = await sql<{ id: string }>`select id from writebacks
    where ${writebacksOf(trx, ids)} and status in ('sending','uncertain') limit 1`.execute(trx.db)
  const [open] = rows
  if (open === undefined) return
  throw new UserError({
    what: 'nothing was erased',
    why: `the write-back ${open.id} to this visitor may or may not have arrived`,
    next:
      `\`deskmirror writeback show ${open.id}\` says what is known; ` +
      'wait, or resolve it, and erase again',
    exitCode: 2,
  })
}
