/** Promise 3 for a list, exactly: rows that are missing although no open gap has their time. */

import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import type { Json } from '../../../src/values/json.ts'
import { parseTime } from '../../../src/values/time.ts'
import { findDifferences, type RowDifference } from './sync-sandbox.ts'

/**
 * The times by which the sandbox orders its lists by default. A row without one needs a gap without
 * a beginning.
 */
const listTimes = {
  conversations: 'lastMessageAt',
  visitors: 'lastSeenAt',
  calls: 'startedAt',
} as const

export type ListName = keyof typeof listTimes
export const listNames = Object.keys(listTimes) as ListName[]

export async function findUncoveredRows(
  warehouse: Warehouse,
  sandbox: Pick<Sandbox, 'truth' | 'projectId'>,
  list: ListName,
): Promise<RowDifference[]> {
  const gaps = await openMirror(warehouse, sandbox.projectId).listOpenGaps(list)
  const isCovered = ({ there }: RowDifference) => {
    const at =
      parseTime((JSON.parse(there ?? '{}') as Record<string, Json>)[listTimes[list]]) ?? null
    return gaps.some(({ from, to }) =>
      at === null ? from === null : (from ?? at) <= at && at <= (to ?? at),
    )
  }
  const differences = await findDifferences(warehouse, sandbox, undefined, [list])
  return differences.filter((difference) => difference.how === 'missing' && !isCovered(difference))
}

/** The service shows the time by which it orders the list. */
export function hasListTime(list: ListName, { there }: RowDifference): boolean {
  return (
    parseTime((JSON.parse(there ?? '{}') as Record<string, Json>)[listTimes[list]]) !== undefined
  )
}
