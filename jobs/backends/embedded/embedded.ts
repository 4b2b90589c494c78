/** The queue without any server: a Postgres in a thread of this process, its files in a folder. For one process. */
import { UserError } from '../../../src/core/user-error.ts'
import type { Link, LinkOptions } from '../link.ts'
import { migrateStore, postgresFactory, sendToBack } from '../postgres-store.ts'
import { type Held, holdFolder } from './folder.ts'
import { poolOver } from './pool.ts'
import { type Session, startSession } from './session.ts'

const schema = 'deskmirror_queue'
const hourMs = 3_600_000

/** Data that cannot be opened is put aside: it holds nothing but wake-up calls, and those are made again. */
export async function openEmbedded({ folder, log, onFatal }: LinkOptions): Promise<Link> {
  const held = holdFolder(folder)
  const onDeath = (error: Error) => {
    log.fatal({ event: 'queue.died', backend: 'embedded', why: error.message })
    onFatal(error)
  }
  const warnings: string[] = []
  try {
    const session = await openOrStartAnew(held, warnings, onDeath)
    const pool = poolOver(session)
    return {
      kind: 'embedded',
      warnings,
      prefix: null,
      factory: postgresFactory(pool, schema),
      expectWorker: () => {},
      sendToBack: (queue, jobId) => sendToBack(pool, queue, jobId),
      // There is no other process, and each of BullMQ's steps is whole.
      alone: (work) => work(),
      ping: async () => void (await session.ask('select 1', [])),
      close: async () => {
        await session.finish()
        held.release()
      },
    }
  } catch (error) {
    held.release()
    throw error
  }
}

async function openOrStartAnew(held: Held, warnings: string[], onDeath: (error: Error) => void): Promise<Session> {
  const used = held.isUsed()
  try {
    return await startStore(held, onDeath)
  } catch (error) {
    if (!used) throw cannotStart(held, error)
    const aside = held.putAside()
    warnings.push(`the embedded queue could not be opened and starts anew; what there was lies in ${aside}`)
    return await startStore(held, onDeath).catch((again) => Promise.reject(cannotStart(held, again)))
  }
}

async function startStore(held: Held, onDeath: (error: Error) => void): Promise<Session> {
  let open = false
  const setting = { dataFolder: held.dataFolder, schema, maintainMs: hourMs, silenceMs: 30_000 }
  const session = await startSession(setting, (error) => open && onDeath(error))
  try {
    await migrateStore(poolOver(session), schema)
    open = true
    return session
  } catch (error) {
    await session.abandon()
    throw error
  }
}

function cannotStart(held: Held, error: unknown): UserError {
  const why = error instanceof Error ? error.message : String(error)
  const next = /EMFILE|ENFILE/.test(why)
    ? 'let this process open more files: `ulimit -n 1024` in a shell, LimitNOFILE= in a systemd unit'
    : 'look for space and permissions on that disk, or set DESKMIRROR_QUEUE_URL to a Redis or Postgres'
  const what = `cannot start the embedded queue in ${held.dataFolder}`
  return new UserError({ what, why, next, exitCode: 2 }, { cause: error })
}
