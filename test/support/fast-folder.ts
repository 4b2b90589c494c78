/** Where the tests keep what need not outlive them. */
import { existsSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const memory = '/dev/shm'

/**
 * In memory where there is enough, else the system's folder for temporary files. A database of
 * Postgres has a thousand files, and some file systems take long to create one soon after others
 * were deleted.
 */
export function fastFolder(): string {
  return freeBytes(memory) > 4e9 ? memory : tmpdir()
}

function freeBytes(folder: string): number {
  if (!existsSync(folder)) return 0
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}
