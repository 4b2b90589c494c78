/**
 * Files that take seconds to create and never change: created by the first test file that needs
 * them, used by all.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { inject } from 'vitest'

/**
 * The path of a file or folder that `make` has created, now or for another test file. It must not
 * be changed.
 */
export async function makeOnce(
  name: string,
  make: (path: string) => Promise<void>,
): Promise<string> {
  const path = join(inject('sharedFolder'), name)
  const lock = `${path}.lock`
  while (!existsSync(path)) {
    if (mkdirSync(lock, { recursive: true }) === undefined) {
      // Another process makes it, and all of them start together.
      await sleep(20)
      continue
    }
    try {
      if (existsSync(path)) break
      await make(join(lock, 'unfinished'))
      renameSync(join(lock, 'unfinished'), path)
    } finally {
      rmSync(lock, { recursive: true })
    }
  }
  return path
}
