/** From what the facts of a project were derived, how far a rebuild has come, and what is left. */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { type FactKind, factKinds } from '../../../schema/stream-specs.ts'
import type { AnalyticsSettings } from '../../config/analytics-settings.ts'
import { createTimeZone } from '../../values/days.ts'
import { toCanonicalJson } from '../../values/json.ts'
import { parseTime, toTimestamp } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { pageFieldOf } from '../core/visits.ts'

/** What facts, calendar and targets depend on. `search`: whether words are indexed. */
export type FactsSettings = {
  readonly timeZone: string
  readonly analytics: AnalyticsSettings
  readonly search?: boolean
}

/** `after`: the id that it reached, '' at the beginning of the kind. */
export type RebuildPosition = { readonly kind: FactKind; readonly after: string }

export const firstPosition: RebuildPosition = { kind: factKinds[0], after: '' }

/** `rebuild`: null = no rebuild is under way. */
export async function readFactsState({ db, project }: ProjectDb) {
  const row = await db
    .selectFrom('facts_state')
    .selectAll()
    .where('project_id', '=', project)
    .executeTakeFirst()
  if (row === undefined) return null
  const { version, fingerprint, rebuilt_to: rebuiltTo } = row
  const mirroredSince = parseTime(row.mirrored_since) ?? 0
  return {
    mirroredSince,
    version,
    fingerprint,
    rebuild: rebuiltTo === null ? null : parsePosition(rebuiltTo),
  }
}

/** '' or anything unknown: from the beginning. */
function parsePosition(text: string): RebuildPosition {
  const [name = '', ...after] = text.split(' ')
  const kind = factKinds.find((known) => known === name)
  return kind === undefined ? firstPosition : { kind, after: after.join(' ') }
}

export async function writeRebuildPosition(
  { db, project }: ProjectDb,
  position: RebuildPosition | null,
) {
  const rebuilt_to = position === null ? null : `${position.kind} ${position.after}`
  await db
    .updateTable('facts_state')
    .set({ rebuilt_to })
    .where('project_id', '=', project)
    .execute()
}

/** Written once, at the first sync run, as runs are deleted some day. */
export async function createFactsState({ db, project, clock, typed }: ProjectDb): Promise<void> {
  await sql`
    insert into facts_state (project_id, mirrored_since, version, fingerprint, time_zone,
    personal_data)
    select ${typed('text', project)},
      coalesce(min(started_at), ${typed('time', toTimestamp(clock()))}), 0, '', '', true
    from sync_runs where project_id = ${project}
    on conflict do nothing`.execute(db)
}

/** Raise it with every change of a definition, of the columns of facts, or of searched words. */
export const factsVersion = 5

/** Countries change their clocks: a newer version of Node may know other offsets of these years. */
const watchedYears = [Date.UTC(2020, 0, 1) / 1000, Date.UTC(2032, 0, 1) / 1000] as const

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

/** Of the facts alone, and of everything: targets, calls and personal data need no rebuild. */
export function fingerprintsOf(
  { timeZone, analytics, search = true }: FactsSettings,
  version = factsVersion,
) {
  const { targets, calls, personalData, ...dependencies } = analytics
  const fields = { ...analytics.fields, activityPage: pageFieldOf(analytics) }
  const offsets = [...createTimeZone(timeZone).offsetSpans(...watchedYears)]
  // The order of the keys in a file makes no difference.
  const hash = hashOf(
    toCanonicalJson(JSON.stringify({ ...dependencies, fields, version, timeZone, offsets })),
  )
  const facts = `${hash}${search ? '' : ' without search'}`
  return { facts, all: `${facts} ${hashOf(JSON.stringify([targets, calls, personalData]))}` }
}

/** Neither a rebuild nor a first derivation is under way: only recent changes are to be derived. */
export async function isDerived(context: ProjectDb): Promise<boolean> {
  const state = await readFactsState(context)
  return state !== null && state.fingerprint !== '' && state.rebuild === null
}

/** What changed, and what a rebuild has not reached, each once. */
export async function countPendingConversations(context: ProjectDb) {
  const { db, project } = context
  const state = await readFactsState(context)
  // No facts have been derived yet: the next refresh derives all.
  const position = state?.fingerprint === '' ? firstPosition : (state?.rebuild ?? null)
  const reached = position?.kind === 'conversation' ? position.after : null
  const { rows } = await sql<{ changed: number; ahead: number }>`
    select (select count(*) from facts_due where project_id = ${project} and kind = 'conversation'
        and ${reached === null ? sql`true` : sql`id <= ${reached}`}) as changed,
      (select count(*) from conversations where project_id = ${project} and deleted_at is null
        and ${reached === null ? sql`false` : sql`id > ${reached}`}) as ahead`.execute(db)
  const { changed = 0, ahead = 0 } = rows[0] ?? {}
  return { conversations: Number(changed) + Number(ahead), isRebuild: position !== null }
}
