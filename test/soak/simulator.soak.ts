/** Twenty thousand schedules, other ones each night. */
import { test } from 'vitest'
import { runSchedules } from '../simulator/simulator-runs.ts'

/** In the title, so that a night can be repeated. */
const first = Number(process.env.SEED ?? Math.floor(Date.now() / 86_400_000) * 100_000)
const perTest = 2000

for (let part = 0; part < 10; part += 1) {
  const seed = first + part * perTest
  test(`${perTest} schedules from seed ${seed} keep every promise`, ({ signal }) => runSchedules(seed, perTest, signal))
}
