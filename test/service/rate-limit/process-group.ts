/**
 * Real processes that share one budget, and a service on loopback that records when each request
 * arrives.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { TestContext } from 'vitest'
import type { WorldRandom } from '../core/simulated-world.ts'
import type { SpendingTask } from './spending-process.ts'

/** Registers cleanup at the end of a test; concurrent tests have one each. */
export type OnTestFinished = TestContext['onTestFinished']

const program = fileURLToPath(new URL('./spending-process.ts', import.meta.url))

export type CountingService = {
  readonly url: string
  readonly arrivals: number[]
  readonly next: (count: number) => Promise<void>
}

/** Counts a request when it arrives, answers a little later, and refuses none. */
export async function startCountingService(
  random: WorldRandom,
  onFinished: OnTestFinished,
): Promise<CountingService> {
  const arrivals: number[] = []
  const waiting = new Set<() => void>()
  const server = createServer((_request, response) => {
    arrivals.push(performance.now())
    for (const check of waiting) check()
    setTimeout(() => response.end('{"data":{}}'), random() * 20)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const next = (count: number) =>
    new Promise<void>((resolve) => {
      const until = arrivals.length + count
      const check = () => {
        if (arrivals.length < until) return
        waiting.delete(check)
        resolve()
      }
      waiting.add(check)
    })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, arrivals, next }
}

export type ProcessGroup = {
  readonly processes: ChildProcess[]
  /** The reasons for which the processes closed the budget. */
  readonly lost: string[]
  readonly start: (isKeyUnused: boolean) => void
  /** `kill -9`, and starts another process instead. */
  readonly replace: (index: number) => void
}

/** Killed when the test ends. */
export function startProcessGroup(
  task: Omit<SpendingTask, 'isKeyUnused'>,
  size: number,
  onFinished: OnTestFinished,
): ProcessGroup {
  const processes: ChildProcess[] = []
  const lost: string[] = []
  const start = (isKeyUnused: boolean): ChildProcess => {
    const argument = JSON.stringify({ ...task, isKeyUnused } satisfies SpendingTask)
    const child = spawn(process.execPath, [program, argument], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child.stdout.on('data', (text) => lost.push(...(String(text).match(/^lost: .*/gm) ?? [])))
    return child
  }
  onFinished(() => {
    for (const child of processes) child.kill('SIGKILL')
  })
  for (let count = 0; count < size; count += 1) processes.push(start(true))
  return {
    processes,
    lost,
    start: (isKeyUnused) => void processes.push(start(isKeyUnused)),
    replace: (index) => {
      processes[index]?.kill('SIGKILL')
      processes[index] = start(false)
    },
  }
}
