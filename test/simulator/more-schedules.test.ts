/** The second half of the schedules, in a file of its own so that two processes share them. */
import { test } from 'vitest'
import { runSchedules } from './simulator-runs.ts'

test('250 further schedules keep every promise', () => runSchedules(250, 250), 300_000)
