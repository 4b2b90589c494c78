/** The numbers of the analytics rollups, one per row. */
import { sql } from 'kysely'
import { escapeDots, unescapePaths } from '../../core/field-path.ts'
import { parseJson } from '../../core/json.ts'
import type { Json } from '../../core/row.ts'
import { batchesOf } from '../database/dialect.ts'
import { encodeText } from '../database/escape.ts'
import type { ProjectDb } from '../database/project-db.ts'
import type { EncodedRow } from './encode-value.ts'
import { columnText, type InsertPlan } from './insert-plan.ts'

/** Characters. The path is part of a key, and indexes have limits; numbers with longer paths stay in `raw`. */
const maxPathLength = 300

/** Numbers by dotted path; array elements by their index, from 0. An integer that a column of numbers cannot hold is left out. */
function collectNumbers(json: Json, path: string, into: Map<string, number>): void {
  if (typeof json === 'number' || (typeof json === 'bigint' && BigInt(Number(json)) === json)) {
    if (path !== '') into.set(path, Number(json))
  } else if (typeof json === 'object' && json !== null) {
    for (const [name, value] of Object.entries(json)) {
      const innerPath = path === '' ? escapeDots(name) : `${path}.${escapeDots(name)}`
      if (innerPath.length <= maxPathLength) collectNumbers(value, innerPath, into)
    }
  }
}

/** Replaces the numbers of a window whose rollup changed. */
export async function replaceMetrics({ db, kind, project }: ProjectDb, plan: InsertPlan, row: EncodedRow) {
  const text = (name: string) => columnText(plan, row, name) ?? ''
  const window = { project_id: project, window_from: text('window_from'), window_to: text('window_to') }
  const isWindow = sql`window_from = ${window.window_from} and window_to = ${window.window_to}`
  await sql`delete from analytics_metrics where project_id = ${project} and ${isWindow}`.execute(db)
  const numbers = new Map<string, number>()
  collectNumbers(parseJson(text('raw')), '', numbers)
  unescapePaths(numbers)
  const metrics = new Map([...numbers].map(([name, value]) => [encodeText(kind, name), value]))
  const columns = { ...window, day: text('day'), time_zone: text('time_zone') }
  const values = [...metrics].map(([metric, value]) => ({ ...columns, metric, value }))
  for (const batch of batchesOf(values, 200)) await db.insertInto('analytics_metrics').values(batch).execute()
}
