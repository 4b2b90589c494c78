/** What a worker says of failing jobs while one of several databases is away. */
import { expect, test } from 'vitest'
import { createJobFailures } from '../../../src/app/worker/job-failures.ts'
import type { JobIdentity } from '../../../src/core/job-failure.ts'
import type { Logger } from '../../../src/log.ts'
import { WarehouseError } from '../../../src/warehouse/database/explain-error.ts'

const [shop, school] = ['shop', 'school'].map((name) => ({ name, projectId: `id of ${name}` }))
const jobOf = (project = shop): JobIdentity => ({
  job: 'pass',
  project: project!,
  key: '',
  stream: 'calls',
  mode: 'incremental',
})
const unavailable = new WarehouseError('cannot use it', { why: 'gone', next: '', exitCode: 1 }, 'unavailable', '57P01')

function failuresOf() {
  const events: unknown[] = []
  const note = ({ event }: { readonly event: string }) => void events.push(event)
  const state = { isAway: false }
  const failures = createJobFailures({
    jobFailures: { record: async () => {}, clear: async () => {}, list: async () => [] },
    projects: () => [shop!, school!],
    log: { error: note, info: note, debug: () => {} } as unknown as Logger,
    metrics: { countJobFailure: () => {} },
    isAway: (projectId) => state.isAway && projectId === school!.projectId,
  })
  return { failures, events, state }
}

test('the outage lasts until the database that is away answers, whatever succeeds in the others', async () => {
  const { failures, events, state } = failuresOf()
  state.isAway = true
  await failures.recordFailure(jobOf(school), unavailable)
  for (let n = 0; n < 3; n += 1) {
    await failures.recordSuccess(jobOf(shop))
    await failures.refresh()
    await failures.recordFailure(jobOf(school), unavailable)
  }
  expect(events).toEqual(['warehouse.lost'])
  state.isAway = false
  await failures.refresh()
  expect(events).toEqual(['warehouse.lost', 'warehouse.back'])
})

test('failures that are stored in the database that is away are not taken for recovered', async () => {
  const { failures, state } = failuresOf()
  await failures.recordFailure(jobOf(school), new Error('unreadable'))
  state.isAway = true
  await failures.refresh()
  expect(failures.list()).toHaveLength(1)
  state.isAway = false
  await failures.refresh()
  expect(failures.list()).toEqual([])
})
