/** From what the facts of a project were derived, and how far a rebuild of them has come. */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { AnalyticsSettings } from '../../core/analytics/analytics-settings.ts'
import { factsFingerprint } from '../../core/analytics/facts-fingerprint.ts'
import { type EpochSeconds, parseTime, toTimestamp } from '../../core/time.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { type FactKind, factKinds } from './pending-facts.ts'

/** The settings of a project on which its facts, calendar and targets depend. `search`: whether words are indexed, too. */
export type FactsSettings = {
  readonly timeZone: string
  readonly analytics: AnalyticsSettings
  readonly search?: boolean
}

/** How far a rebuild has come: `after` is the id that it reached, '' at the beginning of the kind. */
export type RebuildPosition = { readonly kind: FactKind; readonly after: string }

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
