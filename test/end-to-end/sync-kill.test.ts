import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { cleanEnvironment, launcher } from '../cli/run-process.ts'
import { findDifferences, syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { databases } from '../support/databases.ts'
import { sampledCount } from '../support/sampled.ts'

const size = {
  conversations: 70,
  visitors: 20,
  calls: 10,
  messagesPerConversation: [1, 12],
  activityPerVisitor: [0, 5],
  days: 6,
} as const

function startSync(databaseUrl: string, sandbox: Sandbox): ChildProcess {
  return spawn(process.execPath, [launcher, 'sync', '--quiet'], {
    stdio: 'ignore',
    env: cleanEnvironment({
      DESKMIRROR_BASE_URL: sandbox.baseUrl,
      DESKMIRROR_PROJECT_ID: sandbox.projectId,
      DESKMIRROR_API_KEY: sandbox.key,
      DESKMIRROR_DATABASE_URL: databaseUrl,
      DESKMIRROR_RATE: '1000000000/60s',
    }),
  })
}

/** Kills the sync after this many requests, unless it ends before. */
async function killAfter(
  requests: number,
  databaseUrl: string,
  sandbox: Sandbox,
): Promise<'killed' | 'ended'> {
  const child = startSync(databaseUrl, sandbox)
  const until = sandbox.log().length + requests
  const ended = once(child, 'exit').then(() => 'ended' as const)
  const timer = setInterval(() => sandbox.log().length >= until && child.kill('SIGKILL'), 1)
  await ended
  clearInterval(timer)
  return child.signalCode === 'SIGKILL' ? 'killed' : 'ended'
}

/** Pseudo-random, so that a failure can be reproduced. */
function* killPoints(n: number, most: number): Generator<number> {
  for (let i = 0, x = 12_345; i < n; i++) {
    x = (x * 1_103_515_245 + 12_345) % 2 ** 31
    yield 1 + (x % most)
  }
}

for (const { db, kills } of [
  { db: databases[0]!, kills: sampledCount(2, 12) },
  { db: databases[1], kills: sampledCount(1, 12) },
]) {
  test(`${kills} kills at random times lose and duplicate nothing — ${db.name}`, async () => {
    const database = await db.makeForSandbox()
    const sandbox = await startSandbox({
      seed: 11,
      size,
      switches: { 'rate.kind': 'off', 'latency.after': 3 },
    })
    try {
      let killed = 0
      for (const requests of killPoints(kills, 30)) {
        if ((await killAfter(requests, database.url!, sandbox)) === 'killed') killed++
        else
          sandbox.applyRandomMutations(15, requests, [
            'visitorWrites',
            'agentReplies',
            'addConversation',
            'addVisitor',
            'addCall',
          ])
      }
      expect(killed).toBeGreaterThanOrEqual(kills / 2)
      await syncOnce(database.url!, sandbox)
      const warehouse = await database.open()
      expect(await findDifferences(warehouse, sandbox)).toEqual([])
      if (db.name === 'sqlite')
        expect(await warehouse.query('pragma integrity_check')).toEqual([{ integrity_check: 'ok' }])
      const runs = await warehouse.query(
        `select count(*) as n from sync_runs where finished_at is null`,
      )
      expect(Number(runs[0]!.n)).toBe(0)
    } finally {
      await sandbox.stop()
      await database.drop()
    }
  }, 240_000)
}
