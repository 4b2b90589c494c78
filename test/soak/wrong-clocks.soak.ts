/**
 * Four hundred write-backs with lost responses under each wrong clock and each way of changing a
 * reply; and fewer of them in combinations that cover every pair of the service's behaviours, on
 * both databases. `SOAK_FIGURES` names a file for the counts.
 */
import { appendFileSync } from 'node:fs'
import covertable from 'covertable'
import { expect, test } from 'vitest'
import {
  type ClockScenario,
  checkOutcomes,
  clocks,
  replyChanges,
  runClockScenario,
} from '../outbox/wrong-clock-scenario.ts'

const namesOf = <T extends object>(table: T) => Object.keys(table) as (keyof T)[]

/** A reply that is shown as it was sent is found, so no person has to decide about it. */
async function checkScenario(scenario: ClockScenario): Promise<void> {
  const run = await runClockScenario(scenario)
  const counts = await checkOutcomes(run)
  const figures = { ...scenario, ...counts, requests: run.sandbox.counts().total }
  if (process.env.SOAK_FIGURES !== undefined)
    appendFileSync(process.env.SOAK_FIGURES, `${JSON.stringify(figures)}\n`)
  if (scenario.switches !== undefined) return
  if (replyChanges[scenario.change][1]) expect(counts).not.toHaveProperty('message uncertain')
  expect(counts['message succeeded']).toBeGreaterThan(50)
}

const behaviours = {
  database: ['sqlite', 'postgres'],
  clock: namesOf(clocks),
  change: namesOf(replyChanges),
  'messages.paging': ['since', 'before', 'limit', 'all'],
  'messages.order': ['oldest', 'newest', 'newest-ascending'],
  'messages.bound': ['inclusive', 'exclusive'],
  hasMore: ['exact', 'full', 'always'],
  'query.unknown': ['ignored', 'rejected'],
  'writes.answer': ['200', '201', '204', '202'],
  'writes.body': ['row', 'id', 'nothing'],
  'fault.status': [301, 302, 307, 308, 409, 423],
  'fault.says': ['ok', 'success', 'errors', 'error', 'code', 'data', 'word'],
  'ids.big': [false, true],
} satisfies Readonly<Record<string, readonly unknown[]>>

for (const { database, clock, change, ...switches } of covertable.make(behaviours) as (Pick<
  ClockScenario,
  'clock' | 'change'
> & {
  readonly database: 'sqlite' | 'postgres'
})[]) {
  test(JSON.stringify({ database, clock, change, ...switches }), () =>
    checkScenario({ database, clock, change, switches, writebacks: 40 }),
  )
}

for (const clock of namesOf(clocks)) {
  for (const change of namesOf(replyChanges)) {
    test(`${clock}, ${change}`, () => checkScenario({ clock, change, writebacks: 400 }))
  }
}
