/** The numbers of the analytics rollups, one per row. */
import { sql } from 'kysely'
import { parseJson } from '../../core/json.ts'
import type { Json } from '../../core/row.ts'
import { batchesOf } from '../database/dialect.ts'
import { encodeText } from '../database/escape.ts'
import type { ProjectDb } from '../database/project-db.ts'
import type { EncodedRow } from './encode-value.ts'
import { columnText, type InsertPlan } from './insert-plan.ts'

/** Characters. The path is part of a key, and indexes have limits; numbers with longer paths stay in `raw`. */
const maxPathLength = 300

/** Numbers by dotted path; array elements by their index, from 0. */
function flattenNumbers(json: Json, path = ''): [metric: string, value: number][] {
  if (typeof json === 'number' || typeof json === 'bigint') return path === '' ? [] : [[path, Number(json)]]
  if (typeof json !== 'object' || json === null) return []
  return Object.entries(json).flatMap(([name, value]) => {
    const innerPath = path === '' ? name : `${path}.${name}`
    return innerPath.length > maxPathLength ? [] : flattenNumbers(value, innerPath)
  })
}

/** Replaces the numbers of a window whose rollup changed. */
export async function replaceMetrics({ db, kind, project }: ProjectDb, plan: InsertPlan, row: EncodedRow) {
  const text = (name: string) => columnText(plan, row, name) ?? ''
  const window = { project_id: project, window_from: text('window_from'), window_to: text('window_to') }
  const isWindow = sql`window_from = ${window.window_from} and window_to = ${window.window_to}`
  await sql`delete from analytics_metrics where project_id = ${project} and ${isWindow}`.execute(db)
  const metrics = new Map(
    flattenNumbers(parseJson(text('raw'))).map(([name, value]) => [encodeText(kind, name), value]),
  )
  const columns = { ...window, day: text('day'), time_zone: text('time_zone') }
  const values = [...metrics].map(([metric, value]) => ({ ...columns, metric, value }))
  for (const batch of batchesOf(values, 200)) await db.insertInto('analytics_metrics').values(batch).execute()
}
