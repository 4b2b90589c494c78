/** Twenty thousand schedules, other ones each night, and some of them twice. */
import { expect, test } from 'vitest'
import { runReplay, runSchedules } from '../simulator/simulator-runs.ts'

/** In the title, so that a night can be repeated. */
const first = Number(process.env.SEED ?? Math.floor(Date.now() / 86_400_000) * 100_000)
const perTest = 2000

for (let part = 0; part < 10; part += 1) {
  const seed = first + part * perTest
  test(`${perTest} schedules from seed ${seed} keep every promise`, ({ signal }) =>
    runSchedules(seed, perTest, signal))
}

test(`500 schedules from seed ${first} are the same again, in reverse order`, async ({
  signal,
}) => {
  const output = await runReplay(['--twice', String(first), '500'], { signal })
  expect(output).toBe('500 schedules are the same twice\n')
})
