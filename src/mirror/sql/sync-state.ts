/**
 * How far each list has been read, which rules of `columns` its rows follow, and how the service
 * was observed to behave.
 */
import { sql } from 'kysely'
import type { ServiceBehaviour } from '../../../schema/row.ts'
import { type StreamName, streamNames, streamSpecs } from '../../../schema/stream-specs.ts'
import { parseJson } from '../../values/json.ts'
import { type ColumnRule, type ColumnRules, noColumnRules } from '../../values/private-columns.ts'
import { toTimestamp } from '../../values/time.ts'
import {
  findUnknownRules,
  isAbout,
  type StreamField,
  type UnseenRule,
} from '../../values/unseen-rules.ts'
import { decodeJson, decodeText, encodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { type ColumnState, columnsToClean, laxColumns } from '../core/applied-columns.ts'
import { documentedFields } from '../core/streams.ts'
import { rowGapKey, unlistedGapKey, unreadGapKey } from './gaps.ts'
import { findStoredFields } from './stored-fields.ts'
import { streamTables } from './stream-tables.ts'

export async function readCursor({ db, project }: ProjectDb, name: string): Promise<string | null> {
  const { rows } = await sql<{ position: string }>`
    select position from sync_cursors where project_id = ${project} and stream = ${name}`.execute(
    db,
  )
  return rows[0]?.position ?? null
}

export async function writeCursors(
  { db, project }: ProjectDb,
  cursors: Readonly<Record<string, string | null>>,
) {
  for (const [stream, position] of Object.entries(cursors)) {
    if (position === null) {
      await sql`delete from sync_cursors where project_id = ${project}
        and stream = ${stream}`.execute(db)
    } else {
      await db
        .insertInto('sync_cursors')
        .values({ project_id: project, stream, position })
        .onConflict((conflict) =>
          conflict.columns(['project_id', 'stream']).doUpdateSet({ position }),
        )
        .execute()
    }
  }
}

export async function readBehaviours({ db, project }: ProjectDb): Promise<Map<string, string>> {
  const { rows } = await sql<{ name: string; value: string }>`
    select name, value from service_behaviours where project_id = ${project}`.execute(db)
  return new Map(rows.map(({ name, value }) => [name, decodeText(value)]))
}

/** `learned_at` moves only when the value does. */
export async function recordBehaviours(
  trx: ProjectDb,
  behaviours: readonly ServiceBehaviour[],
): Promise<void> {
  const { db, kind, project, clock } = trx
  for (const { name, value: newValue, evidence: newEvidence } of behaviours) {
    const value = encodeText(kind, newValue)
    const evidence = encodeText(kind, newEvidence)
    const fact = { value, evidence, learned_at: toTimestamp(clock()) }
    await db
      .insertInto('service_behaviours')
      .values({ project_id: project, name, ...fact })
      .onConflict((conflict) =>
        conflict
          .columns(['project_id', 'name'])
          .doUpdateSet(fact)
          .where('service_behaviours.value', '!=', value),
      )
      .execute()
  }
}

export const columnsCursor = (stream: string) => `columns:${stream}`

/** Which rules of columns the rows of each stream follow; one without any is absent. */
export async function readColumnStates({
  db,
  project,
}: Pick<ProjectDb, 'db' | 'project'>): Promise<ReadonlyMap<string, ColumnState>> {
  const { rows } = await sql<{ stream: string; position: string }>`
    select stream, position from sync_cursors
    where project_id = ${project} and stream like 'columns:%'`.execute(db)
  return new Map(
    rows.map(({ stream, position }) => [
      stream.slice(columnsCursor('').length),
      JSON.parse(position),
    ]),
  )
}

/** As rules, what is private in stored rows, and would not be by these. */
export async function readLaxColumns(
  context: ProjectDb,
  rules: ColumnRules = noColumnRules,
): Promise<readonly ColumnRule[]> {
  const states = [...(await readColumnStates(context))]
  return states.flatMap(([stream, state]) =>
    laxColumns(state, rules.describe(stream)).map((path) => ({ stream, path, action: 'block' })),
  )
}

/** What the next sync does with stored rows, as these rules say. By stream, without their rows. */
export async function readColumnChanges(context: ProjectDb, rules: ColumnRules) {
  const states = await readColumnStates(context)
  const planned = streamNames.map(async (stream) => {
    const [state, wanted] = [states.get(stream), rules.describe(stream)]
    const { key = null } = state?.applied ?? {}
    return {
      stream,
      lax: await findStoredFields(context, stream, laxColumns(state, wanted)),
      cleaned: columnsToClean(state, wanted),
      // Nothing reads a replaced version again.
      losesHashes: key !== null && key !== wanted.key && streamTables[stream].history !== null,
    }
  })
  return Promise.all(planned)
}

/** Documented ones, and those that rows were found to have. */
export async function readFields({ db, project }: ProjectDb): Promise<readonly StreamField[]> {
  const { rows } = await sql<StreamField>`
    select stream, path from discovered_fields where project_id = ${project}
    union select 'analytics', metric from analytics_metrics
      where project_id = ${project}`.execute(db)
  const found = rows.map(({ stream, path }) => ({ stream, path: decodeText(path) }))
  return [...documentedFields, ...found]
}

const seenCursor = 'columns seen'

async function readSeenRules(context: ProjectDb): Promise<readonly string[]> {
  return JSON.parse((await readCursor(context, seenCursor)) ?? '[]')
}

/** What is blocked from the first row on, only the runs that read it have seen. */
export async function rememberSeenRules(trx: ProjectDb, { matched }: ColumnRules): Promise<void> {
  const seen = await readSeenRules(trx)
  const all = new Set([...seen, ...matched])
  if (all.size > seen.length) await writeCursors(trx, { [seenCursor]: JSON.stringify([...all]) })
}

/** Those whose fields no stored row has, and no documentation of the service. */
export async function findUnseenRules(
  context: ProjectDb,
  rules: ColumnRules,
): Promise<readonly UnseenRule[]> {
  if (rules.rules.length === 0) return []
  const seen = await readSeenRules(context)
  const unknown = findUnknownRules(rules.rules, await readFields(context)).filter(
    ({ name }) => !seen.includes(name),
  )
  const streams = streamNames.filter((name) => unknown.some((rule) => isAbout(rule, name)))
  for (const stream of streams) await matchStored(context, stream, rules)
  return unknown.filter(({ name }) => !rules.matched.has(name))
}

const rowsMatched = 200

/** Some fields have no record of their own: those that are always null, or in a list. */
async function matchStored(
  { db, kind, project }: ProjectDb,
  stream: StreamName,
  rules: ColumnRules,
): Promise<void> {
  const { rows } = await sql<{ raw: string }>`
    select cast(raw as text) as raw from ${sql.table(streamSpecs[stream].table)}
    where project_id = ${project} and raw is not null limit ${rowsMatched}`.execute(db)
  for (const { raw } of rows) rules.keepStored(stream, parseJson(decodeJson(kind, raw)))
}

/** Pending: the files and statistics of the database still have what was cleaned or replaced. */
export const compactionCursor = 'columns compaction'

/** The next sync compacts the database. */
export function requestCompaction(context: ProjectDb): Promise<void> {
  return writeCursors(context, { [compactionCursor]: 'pending' })
}

/** The keys of all gaps that are about a row, or about its children. */
export const gapKeysOf = (id: string) => [unlistedGapKey(id), unreadGapKey(id), rowGapKey(id)]
