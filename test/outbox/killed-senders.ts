/** Processes that send write-backs, and are killed at random times and started again. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { emptyRedisDatabase } from '../jobs/queue-fixtures.ts'
import { startWorkerProcess, type WorkerProcess } from '../worker/worker-process.ts'
import type { OutboxFixture } from './outbox-fixture.ts'
import type { PushProcessTask } from './push-process.ts'

export type Kills = {
  readonly processes: number
  /** How many of them are workers; the others are `push`. None unless given. */
  readonly workers?: number
  readonly kills: number
  /** Minimum and maximum time between kills. */
  readonly killIntervalMs: readonly [number, number]
}

type Sender = {
  readonly kind: 'push' | 'worker'
  /** Whether a kill can hit its work: a worker takes longer to start than most kills are apart. */
  readonly isReady: () => boolean
}

export type RandomInt = (limit: number) => number

/** Pseudo-random, so that a failure can be reproduced. */
export function createRandomInt(seed: number): RandomInt {
  let x = seed
  return (limit) => {
    x = (x * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((x / 2 ** 31) * Math.max(1, limit))
  }
}

/**
 * Returns when nothing is left to send: after the last kill every push ends by itself, and the
 * workers are stopped.
 */
export async function pushWithKills(
  fixture: OutboxFixture,
  { processes, workers = 0, kills, killIntervalMs }: Kills,
  randomInt: RandomInt,
): Promise<void> {
  // Several workers share a queue, and with it the budget of every process.
  const queueUrl = workers > 1 ? await emptyRedisDatabase() : 'embedded'
  const children = new Map<ChildProcess, Sender>()
  const start = (kind: Sender['kind']) => {
    const worker = kind === 'worker' ? startWorker(fixture, queueUrl) : undefined
    const child = worker?.child ?? startPush(fixture, queueUrl)
    children.set(child, { kind, isReady: () => worker === undefined || worker.log.some(isOpened) })
    onTestFinished(() => void child.kill('SIGKILL'))
  }
  for (let n = 0; n < processes; n++) start(n < workers ? 'worker' : 'push')
  let killed = 0
  while (killed < kills) {
    await sleep(killIntervalMs[0] + randomInt(killIntervalMs[1] - killIntervalMs[0]))
    const alive = [...children].filter(([child]) => isRunning(child))
    if (alive.length === 0) start('push')
    const ready = alive.filter(([, { isReady }]) => isReady())
    const [victim, sender] = ready[randomInt(ready.length)] ?? []
    if (victim === undefined || sender === undefined) continue
    victim.kill('SIGKILL')
    await once(victim, 'exit')
    children.delete(victim)
    killed += 1
    start(sender.kind)
  }
  await endAll(fixture, children)
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null
}

const isOpened = ({ event }: WorkerProcess['log'][number]) => event === 'http.opened'

async function endAll(
  fixture: OutboxFixture,
  children: ReadonlyMap<ChildProcess, Sender>,
): Promise<void> {
  const ends = [...children]
    .filter(([child]) => isRunning(child))
    .map(async ([child, { kind }]) => {
      const ended = once(child, 'exit')
      if (kind === 'worker') {
        const outbox = createOutbox(fixture.warehouse.projectDb(fixture.sandbox.projectId))
        while (isRunning(child) && (await outbox.hasPending())) await sleep(100)
        child.kill('SIGTERM')
      }
      expect(await ended).toEqual([0, null])
    })
  await Promise.all(ends)
}

const verifyAfterMs = 400

function startPush({ instance, sandbox }: OutboxFixture, queueUrl: string): ChildProcess {
  const { baseUrl, projectId, key } = sandbox
  const databaseUrl = instance.url ?? ''
  const task: PushProcessTask = { databaseUrl, queueUrl, baseUrl, projectId, key, verifyAfterMs }
  const script = new URL('push-process.ts', import.meta.url).pathname
  return spawn(process.execPath, [script, JSON.stringify(task)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

function startWorker({ instance, sandbox }: OutboxFixture, queueUrl: string): WorkerProcess {
  const databaseUrl = instance.url ?? ''
  const off = ['INCREMENTAL', 'RECONCILE', 'ANALYTICS', 'AVAILABILITY'].map((name) => [
    `DESKMIRROR_SCHEDULE_${name}`,
    'off',
  ])
  const variables = { DESKMIRROR_VERIFY_AFTER: `${verifyAfterMs}ms`, ...Object.fromEntries(off) }
  return startWorkerProcess({ databaseUrl, queueUrl }, sandbox, variables)
}
