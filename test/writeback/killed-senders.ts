/** Processes that send write-backs, and are killed at random times and started again. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import type { OutboxFixture } from './outbox-fixture.ts'
import type { PushProcessTask } from './push-process.ts'

export type Kills = {
  readonly processes: number
  readonly kills: number
  /** Minimum and maximum time between kills. */
  readonly killIntervalMs: readonly [number, number]
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

/** Returns when the processes have ended by themselves after the last kill, because nothing is left to send. */
export async function pushWithKills(
  fixture: OutboxFixture,
  { processes, kills, killIntervalMs }: Kills,
  randomInt: RandomInt,
): Promise<void> {
  const task: PushProcessTask = {
    databaseUrl: fixture.instance.url ?? '',
    baseUrl: fixture.sandbox.baseUrl,
    projectId: fixture.sandbox.projectId,
    key: fixture.sandbox.key,
    verifyAfterMs: 400,
  }
  const children = new Set<ChildProcess>()
  const startProcess = () => {
    const script = new URL('push-process.ts', import.meta.url).pathname
    const child = spawn(process.execPath, [script, JSON.stringify(task)], { stdio: ['ignore', 'ignore', 'inherit'] })
    children.add(child)
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }
  for (let n = 0; n < processes; n++) startProcess()
  let killed = 0
  while (killed < kills) {
    await sleep(killIntervalMs[0] + randomInt(killIntervalMs[1] - killIntervalMs[0]))
    const alive = [...children].filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
    const victim = alive[randomInt(alive.length)]
    if (victim === undefined) {
      startProcess()
      continue
    }
    victim.kill('SIGKILL')
    await once(victim, 'exit')
    children.delete(victim)
    killed += 1
    startProcess()
  }
  for (const child of children) if (child.exitCode === null) expect(await once(child, 'exit')).toEqual([0, null])
}
