/** The promises hold in whatever order clock, network, processes and crashes come; more seeds run each night. */
import { test } from 'vitest'
import { runSchedules } from './simulator-runs.ts'

test('100 schedules keep every promise', ({ signal }) => runSchedules(0, 100, signal))

test('15 schedules with lists of every kind keep every promise, whichever request their reading ends at', ({
  signal,
}) => runSchedules(165, 15, signal, '--lists'))
