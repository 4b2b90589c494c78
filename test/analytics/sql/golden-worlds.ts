/**
 * Random worlds in a warehouse, compared with the naive model after each refresh: for the tests and
 * their longer version.
 */

import { expect, onTestFinished, test } from 'vitest'
import { createProjectFacts } from '../../../src/analytics/sql/project-facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import { toAnalyticsSettings } from '../../support/analytics-model/derive-facts.ts'
import { mergedSteps } from '../../support/analytics-model/merged-world.ts'
import type { ProjectRows } from '../../support/analytics-model/raw-rows.ts'
import {
  markTouched,
  storeProjects,
  storeTouched,
} from '../../support/analytics-model/store-rows.ts'
import {
  expectedOf,
  findWarehouseDifferences,
} from '../../support/analytics-model/warehouse-differences.ts'
import type { TestDatabase } from '../../support/databases.ts'

const mutations = 2

/**
 * It takes seconds, but more on a busy machine: the calendar of each project has thousands of rows.
 */
const timeoutMs = 300_000

/** `group`: which two time zones the projects have. */
export function testGoldenWorlds(db: TestDatabase, group: number, seeds: readonly number[]): void {
  const title = `${seeds.length} random worlds, from seed ${seeds[0]} on, show what the model says (${db.name})`
  test(
    title,
    async () => {
      const database = await db.make()
      onTestFinished(() => database.drop())
      const warehouse = await database.open()
      const steps = mergedSteps(group, seeds, mutations)
      for (const [number, step] of steps.entries()) {
        if (number === 0) await storeProjects(warehouse, step.projects)
        else await storeTouched(warehouse, step.projects, step.touched)
        await markTouched(warehouse, step.touched)
        for (const rows of step.projects) await factsOf(warehouse, rows).refresh()
        const differences = await findWarehouseDifferences(warehouse, expectedOf(step.projects))
        expect({ number, differences: differences.slice(0, 6) }).toEqual({
          number,
          differences: [],
        })
        for (const query of impossible) expect(await warehouse.query(query)).toEqual([])
      }
      const last = steps.at(-1)?.projects ?? []
      for (const rows of last) await factsOf(warehouse, rows).rebuild()
      expect((await findWarehouseDifferences(warehouse, expectedOf(last))).slice(0, 6)).toEqual([])
    },
    timeoutMs,
  )
}

/** Rows of days that cannot be. */
const impossible = [
  'select * from report_backlog_day where waiting_at_end > open_at_end or waiting_at_end < 0',
  'select * from report_backlog_hour where waiting_at_end > open_at_end or waiting_at_end < 0',
  'select * from report_day where waits <> answered_by_human + answered_by_ai + closed_without_answer + ongoing_waits',
]

export function factsOf(warehouse: Warehouse, { project, settings }: ProjectRows) {
  return createProjectFacts(warehouse.projectDb(project), {
    timeZone: settings.timeZone,
    analytics: toAnalyticsSettings(settings),
  })
}
