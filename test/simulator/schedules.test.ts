/** The promises hold in whatever order clock, network, processes and crashes come; more seeds run each night. */
import { test } from 'vitest'
import { runSchedules } from './simulator-runs.ts'

// Side by side, as each runs in one thread.
test.concurrent.for([0, 75])('75 schedules from seed %i keep every promise', (first, { signal }) =>
  runSchedules(first, 75, signal),
)

test('20 schedules with lists of every kind keep every promise, whichever request their reading ends at', ({
  signal,
}) => runSchedules(165, 20, signal, '--lists'))
