/** Whether so many rows are missing that a fault is likelier than real deletions. Pure. */
import type { StreamName } from '../../../schema/stream-specs.ts'

/** Both have to be exceeded. */
const limits = { share: 0.25, rows: 25 }

/** `missing` of `all` rows that were expected. */
export function isMassDeletion(missing: number, all: number): boolean {
  return missing > limits.rows && missing > all * limits.share
}

/** More rows than these do not change whether `missing` of them are too many. */
export function sufficientRows(missing: number): number {
  return Math.ceil(missing / limits.share)
}

/** The key of the gap that is open while a stream's rows are in doubt: until then, none of them is marked as deleted. */
export const massDeletionGapKey = 'deletions'

/** For people. */
export function describeMassDeletion(stream: StreamName, missing: number, all: number): string {
  const what = `the service no longer lists ${missing} of ${all} mirrored ${stream}`
  return `Nothing was marked as deleted, although ${what}. If they are really deleted, run \`deskmirror sync --mode full\`.`
}
