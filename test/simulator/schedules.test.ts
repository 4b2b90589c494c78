/** The promises hold in whatever order clock, network, processes and crashes come; more seeds run each night. */
import { test } from 'vitest'
import { runSchedules } from './simulator-runs.ts'

test('250 schedules keep every promise', () => runSchedules(0, 250), 300_000)
