/** Whatever the service's clock says, and however it shows a reply: by its ledger none goes out twice. More: test/soak/wrong-clocks.soak.ts. */
import { expect, test } from 'vitest'
import { type ClockScenario, checkOutcomes, replyChanges, runClockScenario } from './wrong-clock-scenario.ts'

const worlds: readonly (readonly [ClockScenario['clock'], ClockScenario['change']])[] = [
  ['an hour behind', 'two minutes early'],
  ['ten minutes ahead', 'translated, and by the team'],
  ['in local time with a Z', 'late'],
  ['an hour ahead for one message in ten', 'none'],
]

for (const [clock, change] of worlds) {
  test(`a clock ${clock}, and replies that show changed (${change})`, async () => {
    const o = await runClockScenario({ clock, change, writebacks: 40 })
    const counts = await checkOutcomes(o)
    // What shows as it was sent is found, and is no person's business.
    if (replyChanges[change][1]) expect(counts).not.toHaveProperty('message uncertain')
    else expect(counts['message uncertain']).toBeGreaterThan(0)
    expect(counts['message succeeded']).toBeGreaterThan(2)
  })
}
