/** Whether so many rows are missing that a fault is likelier than real deletions. Pure. */

/** Both have to be exceeded. */
const limits = { share: 0.25, rows: 25 }

/** `missing` of `all` rows that were expected. */
export function isMassDeletion(missing: number, all: number): boolean {
  return missing > limits.rows && missing > all * limits.share
}
