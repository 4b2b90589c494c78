/** Replaces the visits of visitors by what their stored activity says now. */
import { sql } from 'kysely'
import { fieldAtPath } from '../../values/field-path.ts'
import { tryParseJson } from '../../values/json.ts'
import type { EpochSeconds } from '../../values/time.ts'
import { epochSeconds, inList } from '../../warehouse/dialect.ts'
import { decodeJson, encodeText } from '../../warehouse/escape.ts'
import { deriveVisits, pageFieldOf } from '../core/visits.ts'
import { deleteRows, type FactDerivation, type FactSource, idsOf, insertRows } from './fact-rows.ts'

/** Visitors whose activity is held in memory at once. */
const visitorsPerGroup = 100

export const visitFacts: FactDerivation = {
  replaceFacts,
  listIds: idsOf(['visitor_activity', 'visitor_id'], ['fct_visit', 'visitor_id']),
  idsPerRebuildStep: 2000,
}

async function replaceFacts(source: FactSource, ids: readonly string[]): Promise<number> {
  for (let from = 0; from < ids.length; from += visitorsPerGroup) {
    const group = ids.slice(from, from + visitorsPerGroup)
    const entries = await readActivity(source, group)
    await deleteRows(source, 'fct_visit', 'visitor_id', group)
    const visits = deriveVisits(entries, source.settings.visitGapSeconds, source.calendar)
    await insertRows(source, 'fct_visit', visits)
  }
  return ids.length
}

/** Entries with a time, in the order of their keys. `raw` is read only if it names the page. */
async function readActivity(
  { db, kind, project, settings }: FactSource,
  visitorIds: readonly string[],
) {
  const path = pageFieldOf(settings)
  const raw = path === null ? sql`null` : kind === 'sqlite' ? sql`raw` : sql`raw::text`
  const { rows } = await sql<{ visitorId: string; at: EpochSeconds; raw: string | null }>`
    select visitor_id as "visitorId", ${epochSeconds(kind, 'occurred_at')} as at, ${raw} as raw
    from visitor_activity
    where project_id = ${project} and deleted_at is null and occurred_at is not null
      and visitor_id ${inList(kind, visitorIds)}
    order by visitor_id, entry_hash, ordinal`.execute(db)
  const pageOf = (text: string | null) => {
    if (path === null || text === null) return null
    const page = fieldAtPath(tryParseJson(decodeJson(kind, text)) ?? null, path)?.value
    return page === null || page === undefined ? null : encodeText(kind, String(page))
  }
  return rows.map((row) => ({ visitorId: row.visitorId, at: row.at, page: pageOf(row.raw) }))
}
