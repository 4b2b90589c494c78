/**
 * What remembers, apart from a key's budget, that the key was used: so a process that finds no budget knows whether it
 * was lost or never was.
 */
import type { Ms } from '../time.ts'

export type KeyUse = {
  /** Whether nobody noted a use within this time. */
  readonly isUnusedFor: (withinMs: Ms) => Promise<boolean>
  /** The key is about to be used. */
  readonly recordUse: () => Promise<void>
}

/** A process that goes on using the key notes it no more often, so a use may be so much younger than its note. */
export const recordUseEveryMs: Ms = 30_000
