/**
 * The promises hold in whatever order clock, network, processes and crashes come; more seeds run
 * each night.
 */
import { test } from 'vitest'
import { runSchedules } from './simulator-runs.ts'

// Few, but each broken line of `mutations.ts` is found by one of them.
test('47 schedules keep every promise', ({ signal }) => runSchedules(3, 47, signal))

test('13 schedules with lists of every kind keep every promise, whichever request their reading ends at', ({
  signal,
}) => runSchedules(103, 13, signal, '--lists'))
