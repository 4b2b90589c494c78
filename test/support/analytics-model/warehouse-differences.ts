/** What the model expects of the tables and views, and what a warehouse shows instead. */
import type { Warehouse } from '../../../src/app/open.ts'
import { findDifferences } from './compare.ts'
import { lastDay } from './merged-world.ts'
import { deriveModel, type ModelObject } from './model.ts'
import type { ModelRow, ProjectRows } from './raw-rows.ts'

type ExpectedObjects = ReadonlyMap<ModelObject, readonly ModelRow[]>

export function expectedOf(projects: readonly ProjectRows[]): ExpectedObjects {
  const expected = new Map<ModelObject, ModelRow[]>()
  for (const rows of projects) {
    for (const [object, ofProject] of Object.entries(deriveModel(rows, lastDay))) {
      const withProject = ofProject.map((row) => ({ project_id: rows.project, ...row }))
      expected.set(object as ModelObject, [
        ...(expected.get(object as ModelObject) ?? []),
        ...withProject,
      ])
    }
  }
  return expected
}

/** Differences of all tables and views; empty if there are none. */
export async function findWarehouseDifferences(
  warehouse: Warehouse,
  expected: ExpectedObjects,
): Promise<string[]> {
  const found: string[] = []
  for (const [object, rows] of expected) {
    const columns = Object.keys(rows[0] ?? {})
    const actual = await warehouse.query(
      `select ${columns.join(', ')} from ${object} ${comparedPart(object)}`,
    )
    found.push(...findDifferences(object, rows, actual as readonly ModelRow[]))
  }
  return found
}

/** The backlog has a row for every day until today. */
function comparedPart(object: ModelObject): string {
  return object === 'report_backlog_day' ? `where date <= '${lastDay}'` : ''
}
