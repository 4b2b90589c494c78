/** The machine's uptime without reading it each time: what changes the clocks, and what is read. */
import { expect, test } from 'vitest'
import { createUptimeClock } from '../../../src/api/rate-limit/uptime-clock.ts'

type ClockChange = { readonly runs?: number; readonly suspendedFor?: number; readonly wallSetBy?: number }

const cases: readonly (readonly [title: string, changes: readonly ClockChange[], uptime: number, reads: number])[] = [
  ['time that passes is not read', [{ runs: 50 }, { runs: 3_600_000 }], 3_600_050, 1],
  ['a suspension counts', [{ runs: 50 }, { suspendedFor: 60_000 }, { runs: 50 }], 60_100, 2],
  ['a wall clock that is set does not count', [{ runs: 50 }, { wallSetBy: -7_200_000 }, { runs: 50 }], 100, 2],
  ['a suspension after which the wall clock is set counts', [{ suspendedFor: 60_000, wallSetBy: 9000 }], 60_000, 2],
  ['clocks that are rounded differently are still used', [{ runs: 50, wallSetBy: 1 }, { wallSetBy: -2 }], 50, 1],
]

test.each(cases)('%s', (_, changes, passed, reads) => {
  const clocks = { uptime: 1000, running: 0, wall: Date.UTC(2026, 0, 1) }
  let readings = 0
  const now = createUptimeClock({
    uptime: () => {
      readings++
      return clocks.uptime
    },
    running: () => clocks.running,
    wall: () => clocks.wall,
  })
  const shown = changes.map(({ runs = 0, suspendedFor = 0, wallSetBy = 0 }) => {
    clocks.uptime += runs + suspendedFor
    clocks.running += runs
    clocks.wall += runs + suspendedFor + wallSetBy
    return now()
  })
  expect({ passed: (shown.at(-1) ?? 0) - 1000, readings }).toEqual({ passed, readings: reads })
})
