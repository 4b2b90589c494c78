/** The queue without a server: a Postgres in a thread of this process, with its files in a folder. For a single process. */
import { errorText } from '../../../src/core/error-text.ts'
import { UserError } from '../../../src/core/user-error.ts'
import { createPostgresFactory, migrateStore, sendToBack } from '../postgres-store.ts'
import type { StoreConnection, StoreOptions } from '../store-connection.ts'
import { createData } from './create-data-process.ts'
import { type LockedFolder, lockFolder } from './data-folder.ts'
import { createPool } from './pool.ts'
import { startThreadSession, type ThreadSession } from './session.ts'
import { compileBaselineOnly } from './wasm-flags.ts'

const schema = 'deskmirror_queue'
const hourMs = 3_600_000

/** Data that cannot be opened is moved aside: it holds only jobs, and maintenance enqueues those again. */
export async function openEmbedded({ folder, log, onFatal }: StoreOptions): Promise<StoreConnection> {
  const lockedFolder = lockFolder(folder)
  const onClosed = (error: Error) => {
    log.fatal({ event: 'queue.closed', backend: 'embedded', why: error.message })
    onFatal(error)
  }
  const warnings: string[] = []
  try {
    lockedFolder.discardOutdatedData()
    if (lockedFolder.discardIncompleteData())
      warnings.push('the machine stopped while the embedded queue was in use, so the queue starts empty')
    const session = await openOrRecreate(lockedFolder, warnings, onClosed)
    const pool = createPool(session)
    return {
      kind: 'embedded',
      warnings,
      prefix: null,
      factory: createPostgresFactory(pool, schema),
      reserveConnection: () => {},
      sendToBack: (queue, jobId) => sendToBack(pool, queue, jobId),
      // No other process uses the store, and each of BullMQ's steps is atomic.
      runExclusively: (work) => work(),
      ping: async () => void (await session.query('select 1', [])),
      close: async () => {
        await session.close()
        lockedFolder.release()
      },
    }
  } catch (error) {
    lockedFolder.release()
    throw error
  }
}

async function openOrRecreate(
  lockedFolder: LockedFolder,
  warnings: string[],
  onClosed: (error: Error) => void,
): Promise<ThreadSession> {
  const hadData = lockedFolder.hasData()
  try {
    return await startStore(lockedFolder, onClosed)
  } catch (error) {
    if (!hadData) throw toStartError(lockedFolder, error)
    const movedTo = lockedFolder.moveAside()
    warnings.push(`the embedded queue could not be opened and starts empty; its old files are in ${movedTo}`)
    return await startStore(lockedFolder, onClosed).catch((secondError) =>
      Promise.reject(toStartError(lockedFolder, secondError)),
    )
  }
}

async function startStore(lockedFolder: LockedFolder, onClosed: (error: Error) => void): Promise<ThreadSession> {
  compileBaselineOnly()
  if (!lockedFolder.hasData()) await lockedFolder.createData(createData)
  let isOpen = false
  const threadOptions = {
    dataFolder: lockedFolder.dataFolder,
    schema,
    maintainMs: hourMs,
    checkLogMs: 20_000,
    silenceMs: 30_000,
  }
  const session = await startThreadSession(threadOptions, (error) => isOpen && onClosed(error))
  try {
    await migrateStore(createPool(session), schema)
    isOpen = true
    return session
  } catch (error) {
    await session.terminate()
    throw error
  }
}

function toStartError(lockedFolder: LockedFolder, error: unknown): UserError {
  const why = errorText(error)
  const next = /EMFILE|ENFILE/.test(why)
    ? 'let this process open more files: `ulimit -n 1024` in a shell, LimitNOFILE= in a systemd unit'
    : 'check free space and permissions on that disk, or set DESKMIRROR_QUEUE_URL to a Redis or Postgres'
  const what = `cannot start the embedded queue in ${lockedFolder.dataFolder}`
  return new UserError({ what, why, next, exitCode: 2 }, { cause: error })
}
