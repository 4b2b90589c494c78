/**
 * The promises hold in whatever order clock, network, processes and crashes come; more seeds run
 * each night.
 */
import { test } from 'vitest'
import { runSchedules } from './simulator-runs.ts'

// Of the first hundred, those in which a broken line is found that any of them finds: see
// `mutations.ts`.
test('50 schedules keep every promise', ({ signal }) => runSchedules(10, 50, signal))

test('15 schedules with lists of every kind keep every promise, whichever request their reading ends at', ({
  signal,
}) => runSchedules(165, 15, signal, '--lists'))
