/** The file under an open SQLite database: who may read it, and whether it is still where it was. */
import { closeSync, openSync, statSync } from 'node:fs'
import { parseDatabaseUrl } from './location.ts'

/** Makes the file where there is none, for this user only; what SQLite keeps beside it gets the same mode. */
export function createPrivateFile(path: string): void {
  if (isInMemory(path)) return
  try {
    closeSync(openSync(path, 'ax', 0o600))
  } catch {
    // It is there already, or cannot be made: SQLite says so in more detail.
  }
}

/**
 * An open file can be removed, or another one put in its place: what is written goes on into the one that nobody sees any
 * more, and is lost without an error. Throws with a `code` where that has happened.
 */
export function createFileCheck(path: string): () => void {
  const first = isInMemory(path) ? undefined : statSync(path, { throwIfNoEntry: false })
  return () => {
    if (first === undefined) return
    const now = statSync(path, { throwIfNoEntry: false })
    if (now !== undefined && now.ino === first.ino && now.dev === first.dev) return
    const code = now === undefined ? 'FILE_GONE' : 'FILE_REPLACED'
    throw Object.assign(new Error('the file of the database is not the one that was opened'), { code })
  }
}

/** A database in memory. */
function isInMemory(path: string): boolean {
  return path === '' || path.startsWith(':')
}

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
