/**
 * What Node offers to a process, replaced while a schedule runs: clocks, timers, random numbers,
 * and who a process is. Production code needs no changes for it, and nothing of it escapes the
 * scheduler. What else runs in this process (the test runner, what an earlier test has left behind)
 * keeps the real ones: it must neither change a schedule nor have its timers end with it.
 */
import crypto from 'node:crypto'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import timersPromises from 'node:timers/promises'
import type { Ms } from '../../src/values/time.ts'
import {
  currentProcess,
  epoch,
  type Item,
  type Scheduler,
  type SimulatedProcess,
} from './scheduler.ts'

export type Platform = {
  readonly scheduler: Scheduler
  readonly processes: () => readonly SimulatedProcess[]
  /** What the wall clock shows beyond the time that has passed: it may be set. */
  readonly wallOffset: () => Ms
}

/**
 * What clocks that are never set show when a schedule starts: the same each time. Not much later,
 * as nanoseconds have to be exact in a number.
 */
const uptimeBase: Ms = 1e9

/** Returns a function that restores everything. */
export function installPlatform(platform: Platform): () => void {
  const { scheduler } = platform
  const uptime = () => uptimeBase + scheduler.now()
  const restorers = [
    replace(globalThis, createTimers(scheduler)),
    replace(timersPromises, createTimerPromises(scheduler)),
    replace(Date, { now: () => epoch + scheduler.now() + platform.wallOffset() }),
    replace(performance, { now: uptime, timeOrigin: 0 }),
    replace(Math, { random: scheduler.random }),
    replace(crypto, createRandomBytes(scheduler)),
    replace(os, { uptime: () => uptime() / 1000, hostname: () => 'simulated' }),
    replace(process, createProcess(platform, uptime)),
    replace(fs, createProcFiles(platform)),
    replace(AbortSignal, { any: combineSignals }),
  ]
  syncBuiltinESMExports()
  return () => {
    for (const restore of restorers) restore()
    syncBuiltinESMExports()
  }
}

/**
 * Replaces the members for the code of the simulated world. Returns a function that restores them.
 */
function replace(target: object, members: object): () => void {
  const restorers = Object.keys(members).map((name) => {
    const before = Object.getOwnPropertyDescriptor(target, name)
    const real = Reflect.get(target, name)
    Object.defineProperty(target, name, {
      configurable: true,
      ...(typeof real === 'function'
        ? { value: createSwitch(real, Reflect.get(members, name)) }
        : { get: () => (isInWorld() ? Reflect.get(members, name) : real) }),
    })
    return () => {
      if (before === undefined) Reflect.deleteProperty(target, name)
      else Object.defineProperty(target, name, before)
    }
  })
  return () => {
    for (const restore of restorers) restore()
  }
}

/**
 * A function that is one of the two, depending on who calls it: importers keep what they have
 * imported. No Proxy, as a call of one costs several times as much, and a schedule reads its clocks
 * thousands of times.
 */
function createSwitch(real: object, simulated: object): object {
  const [realCall, simulatedCall] = [real as Call, simulated as Call]
  function chosen(this: unknown, ...values: never[]): unknown {
    return (isInWorld() ? simulatedCall : realCall).apply(this, values)
  }
  for (const name of new Set([...Reflect.ownKeys(real), ...Reflect.ownKeys(simulated)])) {
    if (Object.hasOwn(chosen, name)) continue
    const get = () => Reflect.get(isInWorld() ? simulated : real, name)
    Object.defineProperty(chosen, name, { configurable: true, get })
  }
  return chosen
}

type Call = (this: unknown, ...values: never[]) => unknown

const isInWorld = () => currentProcess.getStore() !== undefined
const owner = () => currentProcess.getStore() ?? null

type Timer = {
  item: Item | null
  readonly ref: () => Timer
  readonly unref: () => Timer
  readonly hasRef: () => boolean
}

function createTimers({ schedule }: Scheduler) {
  const start = (run: () => void, delayMs: Ms, isRepeated: boolean) => {
    const process = owner()
    const next = () => schedule(process, Math.max(1, delayMs), '', onDue)
    const onDue = () => {
      if (isRepeated) timer.item = next()
      run()
    }
    const timer: Timer = { item: null, ref: () => timer, unref: () => timer, hasRef: () => true }
    timer.item = next()
    return timer
  }
  const stop = (timer?: { readonly item: Item | null }) => {
    if (timer?.item) timer.item.isCancelled = true
  }
  type Callback = (...values: unknown[]) => void
  return {
    setTimeout: (run: Callback, ms = 1, ...values: unknown[]) =>
      start(() => run(...values), ms, false),
    setInterval: (run: Callback, ms = 1, ...values: unknown[]) =>
      start(() => run(...values), ms, true),
    setImmediate: (run: Callback, ...values: unknown[]) => start(() => run(...values), 0, false),
    clearTimeout: stop,
    clearInterval: stop,
    clearImmediate: stop,
  }
}

function createTimerPromises({ schedule }: Scheduler) {
  const sleep = <T>(ms = 1, value?: T, { signal }: { signal?: AbortSignal } = {}) => {
    const process = owner()
    return new Promise<T | undefined>((resolve, reject) => {
      const onAbort = () => {
        item.isCancelled = true
        reject(new DOMException('The operation was aborted', 'AbortError'))
      }
      const item = schedule(process, ms, '', () => {
        signal?.removeEventListener('abort', onAbort)
        resolve(value)
      })
      if (signal?.aborted) return onAbort()
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }
  return { setTimeout: sleep, setImmediate: (value?: unknown) => sleep(0, value) }
}

/**
 * Like `AbortSignal.any`, whose signals Node never frees while they have listeners, as those of
 * killed processes do.
 */
function combineSignals(signals: Iterable<AbortSignal>): AbortSignal {
  const combined = new AbortController()
  for (const signal of signals) {
    if (signal.aborted) combined.abort(signal.reason)
    else signal.addEventListener('abort', () => combined.abort(signal.reason), { once: true })
  }
  return combined.signal
}

function createRandomBytes({ random }: Scheduler) {
  const randomBytes = (size: number) =>
    Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)))
  const randomUUID = () => {
    const hex = randomBytes(16).toString('hex')
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      hex.slice(12, 16),
      hex.slice(16, 20),
      hex.slice(20),
    ].join('-')
  }
  return { randomBytes, randomUUID }
}

function createProcess({ processes }: Platform, uptime: () => Ms) {
  const isAlive = (pid: number) =>
    processes().some((process) => process.pid === pid && !process.isDead)
  return {
    get pid() {
      return owner()?.pid ?? 1
    },
    hrtime: Object.assign(() => [Math.floor(uptime() / 1000), 0], {
      bigint: () => BigInt(uptime()) * 1_000_000n,
    }),
    kill: (pid: number) => {
      if (!isAlive(pid)) throw Object.assign(new Error('kill ESRCH'), { code: 'ESRCH' })
      return true
    },
  }
}

/** The files by which Linux says who a process is and when it started. */
function createProcFiles({ processes }: Platform) {
  const { readFileSync, readlinkSync } = fs
  const stat = (pid: number) => {
    const found = processes().find((process) => process.pid === pid && !process.isDead)
    if (found === undefined) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' })
    return `${pid} (node) S ${Array.from({ length: 18 }, () => 0).join(' ')} ${pid * 100} 0`
  }
  return {
    readFileSync: (path: fs.PathOrFileDescriptor, ...options: [never]) => {
      const pid = /^\/proc\/(\d+)\/stat$/.exec(String(path))?.[1]
      if (pid !== undefined) return stat(Number(pid))
      if (path === '/proc/sys/kernel/random/boot_id') return 'simulated-boot\n'
      return readFileSync(path, ...options)
    },
    readlinkSync: (path: fs.PathLike, ...options: [never]) =>
      path === '/proc/self/ns/pid'
        ? (owner()?.container ?? 'world')
        : readlinkSync(path, ...options),
  }
}
