/**
 * More calls in one second than a page holds, all of one duration, so that two times may order the
 * list.
 */
import { expect } from 'vitest'
import { openMirror } from '../../../src/app/facts.ts'
import { parseTime } from '../../../src/values/time.ts'
import { sampledTest } from '../../support/sampled.ts'
import { findDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const size = { conversations: 0, visitors: 1, calls: 700, days: 3, activityPerVisitor: 0 } as const
const streams = ['calls'] as const

/** Each value of each, and each pair of the first two. */
const isInSample = (by: string, order: string, seconds: number) =>
  seconds === (by === 'startedAt' ? (order === 'oldest' ? 1 : 90) : order === 'oldest' ? 4000 : 1)

for (const by of ['startedAt', 'endedAt'] as const)
  for (const order of ['oldest', 'newest'] as const)
    for (const seconds of [1, 90, 4000])
      sampledTest(
        isInSample(by, order, seconds),
        `only what no request shows is missing, and the gap has the time of the list: ${by}, ${order} first, ${seconds} s`,
        async () => {
          const calls = { 'calls.by': by, 'calls.order': order, 'calls.seconds': seconds } as const
          const switches = { ...calls, 'storm.calls': 300 }
          await withSandbox(
            { seed: 1, speed: 0, size, switches, streams },
            async ({ sandbox, warehouse, sync }) => {
              for (const mode of ['incremental', 'reconcile'] as const) {
                expect(await sync({ mode })).toMatchObject({ outcome: 'gaps' })
                const missing = await findDifferences(warehouse, sandbox, undefined, streams)
                expect(missing.length).toBeLessThanOrEqual(100)
                const gaps = await openMirror(warehouse, sandbox.projectId).listOpenGaps('calls')
                const times = missing.map(
                  ({ there }) => parseTime((JSON.parse(there!) as Record<string, string>)[by])!,
                )
                const isCovered = (at: number) =>
                  gaps.some(({ from, to }) => (from ?? at) <= at && at <= (to ?? at))
                expect(times.filter((at) => !isCovered(at))).toEqual([])
                expect(gaps.length).toBe(1)
              }
            },
          )
        },
      )
