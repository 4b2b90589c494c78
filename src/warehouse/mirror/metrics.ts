/** The numbers of the analytics rollups, one a row. */
import { sql } from 'kysely'
import { parseJson } from '../../core/json.ts'
import type { Json } from '../../core/row.ts'
import { encodeText } from '../database/escape.ts'
import type { Db } from '../database/session.ts'
import type { Bound } from './cell.ts'
import type { Context } from './context.ts'
import type { Plan } from './plan.ts'

/** It is part of a key, and an index holds no long ones; `raw` has what is named longer. */
const longestPath = 300

/** Numbers by dotted path; members of arrays by their number, from 0. */
export function numbersOf(json: Json, path = ''): [metric: string, value: number][] {
  if (typeof json === 'number' || typeof json === 'bigint') return path === '' ? [] : [[path, Number(json)]]
  if (typeof json !== 'object' || json === null) return []
  return Object.entries(json).flatMap(([name, value]) => {
    const inner = path === '' ? name : `${path}.${name}`
    return inner.length > longestPath ? [] : numbersOf(value, inner)
  })
}

/** Replaces the numbers of the windows whose rollup changed. */
export async function replaceMetrics(
  c: Context,
  trx: Db,
  plan: Plan,
  row: readonly Bound[],
  raw: string,
): Promise<void> {
  const at = (name: string) => String(row[plan.shape.columns.findIndex((column) => column.name === name)])
  const window = { project_id: c.project, window_from: at('window_from'), window_to: at('window_to') }
  await sql`
    delete from analytics_metrics where project_id = ${c.project}
      and window_from = ${window.window_from} and window_to = ${window.window_to}`.execute(trx)
  const metrics = new Map(numbersOf(parseJson(raw)).map(([name, value]) => [encodeText(c.kind, name), value]))
  const place = { ...window, day: at('day'), time_zone: at('time_zone') }
  const values = [...metrics].map(([metric, value]) => ({ ...place, metric, value }))
  for (let i = 0; i < values.length; i += 200) {
    await trx
      .insertInto('analytics_metrics')
      .values(values.slice(i, i + 200))
      .execute()
  }
}
