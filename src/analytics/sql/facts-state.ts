/** From what the facts of a project were derived, how far a rebuild of them has come, and what is left. */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { AnalyticsSettings } from '../../config/analytics-settings.ts'
import { type FactKind, factKinds } from '../../mirror/sql/pending-facts.ts'
import { toCanonicalJson } from '../../values/canonical-json.ts'
import { type EpochSeconds, parseTime, toTimestamp } from '../../values/time.ts'
import { createTimeZone } from '../../values/time-zone.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { FactsWaiting } from '../core/reports.ts'

/** The settings of a project on which its facts, calendar and targets depend. `search`: whether words are indexed, too. */
export type FactsSettings = {
  readonly timeZone: string
  readonly analytics: AnalyticsSettings
  readonly search?: boolean
}

/** How far a rebuild has come: `after` is the id that it reached, '' at the beginning of the kind. */
type RebuildPosition = { readonly kind: FactKind; readonly after: string }

/** Where a rebuild begins. */
export const firstPosition: RebuildPosition = { kind: factKinds[0], after: '' }

export type FactsState = {
  readonly mirroredSince: EpochSeconds
  readonly version: number
  readonly fingerprint: string
  readonly timeZone: string
  /** Null: no rebuild is under way. */
  readonly rebuild: RebuildPosition | null
}

/** Of the facts alone, and of everything: targets and fields of calls change without a rebuild. */
export function fingerprintsOf({ timeZone, analytics, search = true }: FactsSettings): { facts: string; all: string } {
  const facts = `${factsFingerprint({ ...analytics, timeZone })}${search ? '' : ' without search'}`
  const { targets, calls, personalData } = analytics
  const others = createHash('sha256').update(JSON.stringify([targets, calls, personalData]))
  return { facts, all: `${facts} ${others.digest('hex')}` }
}

export async function readFactsState({ db, project }: ProjectDb): Promise<FactsState | null> {
  const row = await db.selectFrom('facts_state').selectAll().where('project_id', '=', project).executeTakeFirst()
  if (row === undefined) return null
  const { version, fingerprint, time_zone: timeZone, rebuilt_to: rebuiltTo } = row
  const mirroredSince = parseTime(row.mirrored_since) ?? 0
  return { mirroredSince, version, fingerprint, timeZone, rebuild: parsePosition(rebuiltTo) }
}

/** The row of a project whose first sync run has just been made. It is written once: runs are deleted some day. */
export async function createFactsState({ db, project, clock, typed }: ProjectDb): Promise<void> {
  await sql`
    insert into facts_state (project_id, mirrored_since, version, fingerprint, time_zone, personal_data)
    select ${typed('text', project)},
      coalesce(min(started_at), ${typed('time', toTimestamp(clock()))}), 0, '', '', true
    from sync_runs where project_id = ${project}
    on conflict do nothing`.execute(db)
}

export async function writeRebuildPosition(
  { db, project }: ProjectDb,
  position: RebuildPosition | null,
): Promise<void> {
  const rebuilt_to = position === null ? null : `${position.kind} ${position.after}`
  await db.updateTable('facts_state').set({ rebuilt_to }).where('project_id', '=', project).execute()
}

/** '' or anything unknown: from the beginning. */
function parsePosition(text: string | null): RebuildPosition | null {
  if (text === null) return null
  const [name = '', ...after] = text.split(' ')
  const kind = factKinds.find((known) => known === name)
  return kind === undefined ? firstPosition : { kind, after: after.join(' ') }
}

/** The kind that a rebuild handles after this one; null = it is the last. */
export function kindAfter(kind: FactKind): FactKind | null {
  return factKinds[factKinds.indexOf(kind) + 1] ?? null
}

/** Raise it with every change of a definition or of the columns of the facts, and of the words that can be searched. */
export const factsVersion = 3

export type DerivationSettings = Pick<
  AnalyticsSettings,
  'roles' | 'hours' | 'holidays' | 'visitGapSeconds' | 'availabilityHoldSeconds' | 'fields'
> & { readonly timeZone: string }

/** Countries change their clocks: a newer version of Node may know other offsets of these years. */
const watchedYears = { from: Date.UTC(2020, 0, 1) / 1000, to: Date.UTC(2032, 0, 1) / 1000 }

/** Not of targets, calls and personal data: only views use them. */
export function factsFingerprint(settings: DerivationSettings, version = factsVersion): string {
  const { roles, hours, holidays, visitGapSeconds, availabilityHoldSeconds, fields, timeZone } = settings
  const offsets = [...createTimeZone(timeZone).offsetSpans(watchedYears.from, watchedYears.to)]
  const dependencies = { version, roles, hours, holidays, visitGapSeconds, availabilityHoldSeconds, fields }
  // The order of the keys in a file makes no difference.
  const text = toCanonicalJson(JSON.stringify({ ...dependencies, timeZone, offsets }))
  return createHash('sha256').update(text).digest('hex')
}

/** Those that changed, and those that a rebuild has not reached, each once. */
export async function countWaitingConversations(context: ProjectDb): Promise<FactsWaiting> {
  const { db, project } = context
  const state = await readFactsState(context)
  // Stored by a version without facts: the next refresh begins a rebuild.
  const isUnderived = state?.fingerprint === ''
  const position = state?.rebuild ?? null
  if (!isUnderived && position?.kind !== 'conversation')
    return { conversations: await countPending(context, null), isRebuild: position !== null }
  const reached = isUnderived ? '' : (position?.after ?? '')
  const { left } = await db
    .selectFrom('conversations')
    .select((eb) => eb.fn.countAll<number>().as('left'))
    .where('project_id', '=', project)
    .where('id', '>', reached)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  return { conversations: Number(left) + (await countPending(context, reached)), isRebuild: true }
}

/** `upTo`: only up to this id. */
async function countPending({ db, project }: ProjectDb, upTo: string | null): Promise<number> {
  const pending = db
    .selectFrom('facts_due')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where((eb) => eb.and({ project_id: project, kind: 'conversation' }))
  const { count } = await (upTo === null ? pending : pending.where('id', '<=', upTo)).executeTakeFirstOrThrow()
  return Number(count)
}
