/** Files that take seconds to create and never change: created by the first test file that needs them, used by all. */
import { randomUUID } from 'node:crypto'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'

/** The path of a file or folder that `make` has created, now or for another test file. It must not be changed. */
export async function makeOnce(name: string, make: (path: string) => Promise<void>): Promise<string> {
  const path = join(inject('sharedFolder'), name)
  if (existsSync(path)) return path
  const ownPath = `${path}-${randomUUID()}`
  await make(ownPath)
  try {
    renameSync(ownPath, path)
  } catch (error) {
    // Another process was faster, and its result is equivalent. A folder cannot replace an existing one.
    if (!existsSync(path)) throw error
    rmSync(ownPath, { recursive: true })
  }
  return path
}
