/** The client of a run, in a worker that outlives thousands of runs. */
import { getEventListeners } from 'node:events'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { openService } from '../../src/app/service.ts'
import { createMemoryStore } from '../../src/service/rate-limit/budget-store.ts'
import { createRequestBudget } from '../../src/service/rate-limit/request-budget.ts'
import { projectConfigOf } from '../mirror/sync/sync-sandbox.ts'

const address = 'https://service.example'
const project = projectConfigOf({ projectId: '', baseUrl: address, widgetUrl: address, key: 'key' })
const budget = createRequestBudget(createMemoryStore({ ...project, reserve: 0, rateMargin: 0.02 }))

test('a run that has ended listens to no signal: Node would keep the signal and all of the run', async () => {
  const { signal } = new AbortController()
  const service = openService(project, budget, { signal, log: pino({ level: 'silent' }) })
  expect(getEventListeners(service.signal, 'abort')).toHaveLength(1)
  await service.close()
  expect(getEventListeners(service.signal, 'abort')).toEqual([])
  expect(getEventListeners(signal, 'abort')).toEqual([])
})
