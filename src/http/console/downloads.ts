/** Files that a page offers right after it was made: kept in memory for a while, for the person who made them. */
import { randomBytes } from 'node:crypto'
import type { EpochMs, Ms } from '../../core/time.ts'

const keptMs: Ms = 15 * 60_000
/** Each has 20 MB at most; the oldest go first. */
const maxFiles = 3

export function createDownloads(now: () => EpochMs) {
  const files = new Map<string, { readonly person: string; readonly until: EpochMs; readonly bytes: Buffer }>()
  const forget = () => {
    for (const [key, { until }] of files) if (until <= now() || files.size > maxFiles) files.delete(key)
  }
  return {
    /** Returns the key. */
    add: (person: string, bytes: Buffer): string => {
      const key = randomBytes(18).toString('base64url')
      files.set(key, { person, until: now() + keptMs, bytes })
      forget()
      return key
    },
    find: (person: string, key: string): Buffer | null => {
      forget()
      const file = files.get(key)
      return file?.person === person ? file.bytes : null
    },
  }
}
