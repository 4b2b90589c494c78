/**
 * Cases that prove one promise many times over, such as a test on each kind of queue. `npm test`
 * runs a sample, because it must end within minutes; `npm run test:soak` runs every file that uses
 * this, with all cases.
 */
import { inject, test } from 'vitest'
import type { DatabaseKind } from '../../schema/column-types.ts'

/** Whether this run has time for all cases. */
export function runsAllCases(): boolean {
  return inject('runsAllCases')
}

/** Those of the cases that this run has time for. */
export function sampled<Case>(
  cases: readonly Case[],
  isInSample: (item: Case, index: number) => boolean,
): Case[] {
  return cases.filter((item, index) => runsAllCases() || isInSample(item, index))
}

/** A test that is one of several cases. */
export function sampledTest(
  isInSample: boolean,
  title: string,
  work: () => Promise<void>,
  timeout?: number,
): void {
  if (isInSample || runsAllCases()) test(title, work, timeout)
}

/**
 * For tests of what both databases do by the same SQL: here each runs on one of them, in turn, in
 * the soak on both. `first`: where the first one of a file runs.
 */
export function createTestOnOne(first: DatabaseKind = 'sqlite') {
  const counts: Record<DatabaseKind, number> = { sqlite: 0, postgres: 0 }
  return (
    database: DatabaseKind,
    title: string,
    work: () => Promise<void>,
    timeout?: number,
  ): void => {
    counts[database] += 1
    const isOdd = counts[database] % 2 === 1
    sampledTest(isOdd === (database === first), title, work, timeout)
  }
}

/** How often something is repeated, such as a kill at a random time. */
export function sampledCount(inSample: number, inAll: number): number {
  return runsAllCases() ? inAll : inSample
}
