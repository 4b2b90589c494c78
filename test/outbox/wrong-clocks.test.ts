/**
 * No reply is sent twice with wrong clocks and changed replies. More cases:
 * test/soak/wrong-clocks.soak.ts.
 */
import { expect, test } from 'vitest'
import { sampled } from '../support/sampled.ts'
import {
  type ClockScenario,
  checkOutcomes,
  replyChanges,
  runClockScenario,
} from './wrong-clock-scenario.ts'

const scenarios: readonly (readonly [ClockScenario['clock'], ClockScenario['change']])[] = [
  ['an hour behind', 'two minutes early'],
  ['ten minutes ahead', 'translated, under the name of the team'],
  ['in local time with a Z', 'late'],
  ['an hour ahead for one message in ten', 'none'],
]

for (const [clock, change] of sampled(scenarios, (_, index) => index < 2)) {
  test(`a clock ${clock}, replies shown with the change: ${change}`, async () => {
    const o = await runClockScenario({ clock, change, writebacks: 24 })
    const counts = await checkOutcomes(o)
    // A reply that shows unchanged is found and needs no person.
    if (replyChanges[change][1]) expect(counts).not.toHaveProperty('message uncertain')
    else expect(counts['message uncertain']).toBeGreaterThan(0)
    expect(counts['message succeeded']).toBeGreaterThan(2)
  })
}
