/**
 * How much of a key's write limit a backlog of a thousand write-backs uses, including checks: 120 a
 * minute as the service counts them, over three minutes after the first one. One process on SQLite,
 * three on Postgres, and a worker, concurrently. Options: `bench/limit-options.ts`.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { openWarehouse } from '../src/app/open.ts'
import { parseRequest, type WritebackRequest } from '../src/outbox/core/writeback-request.ts'
import { createOutbox } from '../src/outbox/sql/outbox.ts'
import { type Sandbox, startSandbox } from '../src/sandbox/sandbox.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { createSchema } from './create-schema.ts'
import { printFigure } from './figures.ts'
import { readLimitOptions } from './limit-options.ts'
import { launcher } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

const [writes, windowMs, backlog] = [120, 60_000, 1000]
const options = readLimitOptions()
const size = { conversations: 400, visitors: 400, calls: 0 } as const

type ProcessGroup = {
  readonly name: string
  readonly processes: number
  readonly command: string
  readonly databaseUrl: string
}

await withTempFolder(async (folder) => {
  const postgres = await startPostgres()
  const groups: ProcessGroup[] = [
    {
      name: 'push, SQLite',
      processes: 1,
      command: 'push',
      databaseUrl: `sqlite:${folder}/push.db`,
    },
    {
      name: 'start, SQLite',
      processes: 1,
      command: 'start',
      databaseUrl: `sqlite:${folder}/start.db`,
    },
    {
      name: 'push, Postgres',
      processes: 3,
      command: 'push',
      databaseUrl: await createSchema(postgres.url, 'push'),
    },
  ]
  try {
    const named = groups.map((group) => ({ ...group, name: `${group.processes} × ${group.name}` }))
    const measured = named
      .filter(options.isMeasured)
      .map(async (group) => ({ ...group, ...(await measure(group, folder)) }))
    for (const { name, used, most, refused, reads } of await Promise.all(measured)) {
      const worst = `${options.title}; at most ${most} in any minute, ${refused} refused, ${reads.toFixed(1)} reads a write`
      printFigure(`${name}: of the writes`, 100 * used, '%', worst)
    }
  } finally {
    await postgres.stop()
  }
})

async function measure({ processes, command, databaseUrl }: ProcessGroup, cwd: string) {
  const sandbox = await startSandbox({ size, switches: options.switches })
  await queueWritebacks(sandbox, databaseUrl)
  const env = {
    ...process.env,
    DESKMIRROR_BASE_URL: sandbox.baseUrl,
    DESKMIRROR_PROJECT_ID: sandbox.projectId,
    DESKMIRROR_API_KEY: sandbox.key,
    DESKMIRROR_DATABASE_URL: databaseUrl,
    DESKMIRROR_HTTP: 'off',
    ...options.env,
    // So the worker mirrors nothing meanwhile.
    ...Object.fromEntries(
      ['INCREMENTAL', 'RECONCILE', 'ANALYTICS', 'AVAILABILITY'].map((name) => [
        `DESKMIRROR_SCHEDULE_${name}`,
        'off',
      ]),
    ),
  }
  const children = Array.from({ length: processes }, () =>
    spawn(process.execPath, [launcher, command], { cwd, env, stdio: 'ignore' }),
  )
  try {
    return await measureUse(sandbox)
  } finally {
    await Promise.all(children.map(stopProcess))
    await sandbox.stop()
  }
}

/** Replies, flags, notes and corrections, as an import would queue them. */
async function queueWritebacks(sandbox: Sandbox, databaseUrl: string): Promise<void> {
  const ids = (stream: 'conversations' | 'visitors') =>
    [...sandbox.truth(stream)].map(({ id }) => id ?? '')
  const [conversations, visitors] = [ids('conversations'), ids('visitors')]
  const requests = Array.from({ length: backlog }, (_, n): WritebackRequest => {
    const [conversation_id, visitor_id] = [
      conversations[n % conversations.length],
      visitors[n % visitors.length],
    ]
    const lines = [
      { operation: 'message', conversation_id, content: `Reply ${n}`, sender_name: 'Ann' },
      { operation: 'handled', conversation_id, handled: true },
      { operation: 'note', visitor_id, content: `Note ${n}` },
      { operation: 'visitor', visitor_id, name: `Name ${n}` },
    ]
    const read = parseRequest(lines[n % lines.length])
    if (!read.ok) throw new Error(JSON.stringify(read.mistakes))
    return read.request
  })
  const warehouse = await openWarehouse(databaseUrl)
  const options = { status: 'queued', batchId: null, createdBy: 'bench', expiresAt: null } as const
  await createOutbox(warehouse.projectDb(sandbox.projectId)).enqueue(
    (async function* () {
      yield requests
    })(),
    options,
  )
  await warehouse.close()
}

async function measureUse(sandbox: Sandbox) {
  const sent = () => sandbox.log().filter(({ write }) => write)
  while (sent().length === 0) await sleep(100)
  // The first window begins with a burst, unlike later ones.
  await sleep(windowMs)
  const from = Date.now()
  await sleep(options.minutes * windowMs)
  const { maxInWindow, byStatus } = sandbox.counts()
  const arrived = sent().filter(({ arrivedAt }) => arrivedAt >= from).length
  const reads =
    sandbox.log().filter(({ write, arrivedAt }) => !write && arrivedAt >= from).length / arrived
  return {
    used: arrived / options.minutes / writes,
    most: maxInWindow.writes,
    refused: byStatus['429'] ?? 0,
    reads,
  }
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const exit = once(child, 'exit')
  child.kill()
  await exit
}
