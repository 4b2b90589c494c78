/** Real processes that share one budget, and a service on loopback that remembers when each request came. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { TestContext } from 'vitest'
import type { SpendingTask } from './spending-process.ts'
import type { Random } from '../../core/rate-limit/simulated-world.ts'

/** Registers what is to be done at the end of a test; tests that run side by side have one each. */
export type OnTestFinished = TestContext['onTestFinished']

const program = fileURLToPath(new URL('./spending-process.ts', import.meta.url))

export type CountingService = {
  readonly url: string
  readonly arrivals: number[]
  readonly next: (count: number) => Promise<void>
}

/** Counts a request when it arrives, answers a little later, and refuses none: the tests judge. */
export async function startCountingService(dice: Random, finished: OnTestFinished): Promise<CountingService> {
  const arrivals: number[] = []
  const waiting = new Set<() => void>()
  const server = createServer((_request, response) => {
    arrivals.push(performance.now())
    for (const look of waiting) look()
    setTimeout(() => response.end('{"data":{}}'), dice() * 20)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  finished(() => {
    server.closeAllConnections()
    server.close()
  })
  const next = (count: number) =>
    new Promise<void>((resolve) => {
      const until = arrivals.length + count
      const look = () => {
        if (arrivals.length < until) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
    })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, arrivals, next }
}

export type ProcessGroup = {
  readonly processes: ChildProcess[]
  /** What the processes said was lost. */
  readonly lost: string[]
  readonly start: (quiet: boolean) => void
  /** `kill -9`, and another one in its place. */
  readonly replace: (index: number) => void
}

/** Gone when the test ends. */
export function startProcessGroup(task: Omit<SpendingTask, 'quiet'>, size: number, finished: OnTestFinished): ProcessGroup {
  const processes: ChildProcess[] = []
  const lost: string[] = []
  const start = (quiet: boolean): ChildProcess => {
    const argument = JSON.stringify({ ...task, quiet } satisfies SpendingTask)
    const child = spawn(process.execPath, [program, argument], { stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.on('data', (text) => lost.push(...(String(text).match(/^lost: .*/gm) ?? [])))
    return child
  }
  finished(() => {
    for (const child of processes) child.kill('SIGKILL')
  })
  for (let count = 0; count < size; count += 1) processes.push(start(true))
  return {
    processes,
    lost,
    start: (quiet) => void processes.push(start(quiet)),
    replace: (index) => {
      processes[index]?.kill('SIGKILL')
      processes[index] = start(false)
    },
  }
}
