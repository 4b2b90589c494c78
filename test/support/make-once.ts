/** What takes seconds to make and never changes: made by the first test file that needs it, used by all of them. */
import { randomUUID } from 'node:crypto'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'

/** The path of a file or folder that `make` has made, now or for another test file. It is not to be changed. */
export async function makeOnce(name: string, make: (path: string) => Promise<void>): Promise<string> {
  const path = join(inject('sharedFolder'), name)
  if (existsSync(path)) return path
  const ownPath = `${path}-${randomUUID()}`
  await make(ownPath)
  try {
    renameSync(ownPath, path)
  } catch (error) {
    // Another process was faster, and theirs is as good. A folder is not replaced by one.
    if (!existsSync(path)) throw error
    rmSync(ownPath, { recursive: true })
  }
  return path
}
