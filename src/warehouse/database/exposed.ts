/** Files with customers' data that other users of this machine may read. */
import { statSync } from 'node:fs'
import { parseDatabaseUrl } from './place.ts'

export type Exposed = {
  readonly path: string
  /** `644`, as `chmod` takes it. */
  readonly mode: string
}

/** The SQLite file, what lies beside it, and the folder of the embedded queue. Somebody may want it so: nothing is changed. */
export function exposedFiles(databaseUrl: string): readonly Exposed[] {
  const place = parseDatabaseUrl(databaseUrl)
  if (place.kind !== 'sqlite' || process.platform === 'win32') return []
  return ['', '-wal', '-shm', '-journal', '-queue'].flatMap((ending) => {
    const path = `${place.path}${ending}`
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
    return (mode & 0o077) === 0 ? [] : [{ path, mode: (mode & 0o777).toString(8) }]
  })
}
