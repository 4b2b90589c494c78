/** Files with customers' data that other users of this machine may read. */
import { statSync } from 'node:fs'
import { parseDatabaseUrl } from './location.ts'

export type ExposedFile = {
  readonly path: string
  /** `644`, as `chmod` takes it. */
  readonly mode: string
}

/** The SQLite file, what lies beside it, and the folder of the embedded queue. Somebody may want it so: nothing is changed. */
export function findExposedFiles(databaseUrl: string): readonly ExposedFile[] {
  const location = parseDatabaseUrl(databaseUrl)
  if (location.kind !== 'sqlite' || process.platform === 'win32') return []
  return ['', '-wal', '-shm', '-journal', '-queue'].flatMap((suffix) => {
    const path = `${location.path}${suffix}`
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
    return (mode & 0o077) === 0 ? [] : [{ path, mode: (mode & 0o777).toString(8) }]
  })
}
