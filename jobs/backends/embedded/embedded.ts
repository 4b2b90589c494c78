/** The queue without any server: a Postgres in a thread of this process, its files in a folder. For one process. */
import { UserError } from '../../../src/core/user-error.ts'
import type { StoreConnection, StoreOptions } from '../store-connection.ts'
import { migrateStore, createPostgresFactory, sendToBack } from '../postgres-store.ts'
import { type LockedFolder, lockFolder } from './data-folder.ts'
import { createPool } from './pool.ts'
import { type ThreadSession, startThreadSession } from './session.ts'

const schema = 'deskmirror_queue'
const hourMs = 3_600_000

/** Data that cannot be opened is put aside: it holds nothing but wake-up calls, and those are made again. */
export async function openEmbedded({ folder, log, onFatal }: StoreOptions): Promise<StoreConnection> {
  const lockedFolder = lockFolder(folder)
  const onDeath = (error: Error) => {
    log.fatal({ event: 'queue.died', backend: 'embedded', why: error.message })
    onFatal(error)
  }
  const warnings: string[] = []
  try {
    const session = await openOrRecreate(lockedFolder, warnings, onDeath)
    const pool = createPool(session)
    return {
      kind: 'embedded',
      warnings,
      prefix: null,
      factory: createPostgresFactory(pool, schema),
      reserveConnection: () => {},
      sendToBack: (queue, jobId) => sendToBack(pool, queue, jobId),
      // There is no other process, and each of BullMQ's steps is whole.
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

async function openOrRecreate(lockedFolder: LockedFolder, warnings: string[], onDeath: (error: Error) => void): Promise<ThreadSession> {
  const hadData = lockedFolder.hasData()
  try {
    return await startStore(lockedFolder, onDeath)
  } catch (error) {
    if (!hadData) throw toStartError(lockedFolder, error)
    const movedTo = lockedFolder.moveAside()
    warnings.push(`the embedded queue could not be opened and starts anew; what there was lies in ${movedTo}`)
    return await startStore(lockedFolder, onDeath).catch((secondError) => Promise.reject(toStartError(lockedFolder, secondError)))
  }
}

async function startStore(lockedFolder: LockedFolder, onDeath: (error: Error) => void): Promise<ThreadSession> {
  let isOpen = false
  const threadOptions = { dataFolder: lockedFolder.dataFolder, schema, maintainMs: hourMs, silenceMs: 30_000 }
  const session = await startThreadSession(threadOptions, (error) => isOpen && onDeath(error))
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
  const why = error instanceof Error ? error.message : String(error)
  const next = /EMFILE|ENFILE/.test(why)
    ? 'let this process open more files: `ulimit -n 1024` in a shell, LimitNOFILE= in a systemd unit'
    : 'look for space and permissions on that disk, or set DESKMIRROR_QUEUE_URL to a Redis or Postgres'
  const what = `cannot start the embedded queue in ${lockedFolder.dataFolder}`
  return new UserError({ what, why, next, exitCode: 2 }, { cause: error })
}
