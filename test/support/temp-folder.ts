/** Temporary folders of tests. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/**
 * An empty folder. `atEnd` removes it: after the test, or after all tests of the file by
 * `afterAll`.
 */
export function createTempFolder(atEnd: (remove: () => void) => void = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'deskmirror-test-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
