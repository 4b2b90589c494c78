/** `describe`: what there is to query, what each number means and what it does not, how fresh it is, and what is missing. */
import { z } from 'zod'
import { plainType } from '../../schema/column-types.ts'
import { type ColumnSpec, type TableSpec, tables } from '../../schema/tables.ts'
import { analystObjects, analyticsObjects } from '../analytics/views/all-views.ts'
import { readingRules, typeWordOf, useOf } from '../analytics/views/column-words.ts'
import { describeColumn } from '../analytics/views/view-spec.ts'
import type { StatusReport } from '../maintenance/maintenance.ts'
import { readStatus } from '../maintenance/sql/status.ts'
import { nearestNames } from '../values/nearest-names.ts'
import { UserError } from '../values/user-error.ts'
import { listDiscoveredColumns } from './sql/discovered-columns.ts'
import { defineTool } from './tool.ts'

const column = z.object({ name: z.string(), type: z.string(), use: z.string(), about: z.string() })
const object = z.object({
  name: z.string(),
  about: z.string().describe('What a row is'),
  beware: z.string().nullable().describe('What it could be taken for and is not'),
  key: z.array(z.string()).optional(),
  columns: z.array(column).optional().describe('Of objects that were asked for by name'),
})
export const freshness = {
  streams: z.looseObject({ stream: z.string() }).array(),
  gaps: z.looseObject({ reason: z.string() }).array().describe('What is known to be missing'),
}

export const describeTool = defineTool({
  name: 'describe',
  description:
    'Lists the objects that `query` can read, with how fresh they are and which gaps are open. With names of objects: their columns, units, and what each number means and does not. Ask it before the first query.',
  input: z.object({
    objects: z.array(z.string()).max(20).default([]).describe('Such as report_day; empty = the list'),
  }),
  output: z.object({
    database: z.enum(['sqlite', 'postgres']).describe('Whose SQL `query` takes'),
    projectId: z.string().describe('Filter by it: the warehouse may hold other projects'),
    timeZone: z.string().describe('Of dates and hours'),
    rules: z.array(z.string()).describe('How names, types and uses are read'),
    objects: z.array(object),
    ...freshness,
  }),
  run: async ({ objects: names }, { session: { db, project, warehouse, now } }) => {
    const { projectId, timeZone } = project
    const known = describable(warehouse.kind)
    const unknown = names.find((asked) => known.every(({ name }) => name !== asked))
    if (unknown !== undefined) {
      const near = nearestNames(
        unknown,
        known.map(({ name }) => name),
      )
      const next = near.length === 0 ? 'ask without names for the list' : `did you mean ${near.join(' or ')}?`
      throw new UserError({ what: 'nothing is described', why: `there is no ${unknown}`, next, exitCode: 2 })
    }
    const discovered = await listDiscoveredColumns(db)
    const chosen = known.filter(({ name }) => names.includes(name))
    return {
      ...{ database: warehouse.kind, projectId, timeZone, rules: readingRules },
      objects:
        names.length === 0
          ? known.map(({ name, about, beware }) => ({ name, about, beware }))
          : chosen.map((found) => ({ ...found, columns: found.columns.concat(discovered.get(found.name) ?? []) })),
      ...toFreshness(await readStatus(db, now(), project, project.streams)),
    }
  },
})

export function toFreshness({ streams, gaps }: Pick<StatusReport, 'streams' | 'gaps'>) {
  const shown = streams.map(({ stream, rows, syncedAt, newest, failed, skipped }) => ({
    ...{ stream, rows, syncedAt, newest, failed, skipped },
  }))
  return { streams: shown, gaps }
}

type Described = z.infer<typeof object> & { readonly columns: z.infer<typeof column>[] }

/** In Postgres a statement runs under a role that reads the objects for analysts. */
function describable(kind: 'sqlite' | 'postgres'): readonly Described[] {
  const forAnalysts = analystObjects.map(({ name, note, caveat, key, columns }) => ({
    ...{ name, about: note, beware: caveat, key: [...key] },
    columns: Object.entries(columns).map(([column, spec]) => ({
      ...{ name: column, type: typeWordOf(spec.type, spec.isNullable) },
      ...{ use: useOf(name, column, spec), about: describeColumn(spec) },
    })),
  }))
  if (kind === 'postgres') return forAnalysts
  const others = Object.entries<TableSpec>(tables).filter(([name]) =>
    analyticsObjects.every((made) => made.name !== name),
  )
  return [
    ...forAnalysts,
    ...others.map(([name, { note, key, columns }]) => ({
      ...{ name, about: note, beware: null, key: [...key] },
      columns: Object.entries<ColumnSpec>(columns).map(([column, [type, about]]) => ({
        ...{ name: column, type: typeWordOf(plainType[type], type.endsWith('?')), use: 'as it is', about },
      })),
    })),
  ]
}
