/**
 * Loaded before everything else (`node --import`): fails a run in which a schedule reaches the
 * machine's clocks, timers, random numbers or threads. It may do so despite `virtual-platform.ts`,
 * as where a module has kept a function since its import.
 */
import crypto from 'node:crypto'
import dns from 'node:dns'
import fsPromises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import zlib from 'node:zlib'
import { currentProcess } from './scheduler.ts'

type Call = (this: unknown, ...values: unknown[]) => unknown

const reached = new Set<string>()

/** Those that exist, by default every function. */
function watch(
  label: string,
  target: object,
  names: readonly string[] = Object.keys(target),
): void {
  for (const name of names) {
    const real: unknown = Reflect.get(target, name)
    if (typeof real !== 'function' || isClass(name)) continue
    function watched(this: unknown, ...values: unknown[]): unknown {
      if (currentProcess.getStore() !== undefined) reached.add(`${label}.${name} ${caller()}`)
      return (real as Call).apply(this, values)
    }
    Object.defineProperties(watched, Object.getOwnPropertyDescriptors(real))
    Reflect.set(target, name, watched)
  }
}

const isClass = (name: string) => /^[A-Z]/.test(name)

function caller(): string {
  const lines = new Error().stack?.split('\n').slice(1) ?? []
  return lines.find((line) => !/watch-platform|node:internal/.test(line))?.trim() ?? ''
}

watch('Date', Date, ['now'])
watch('performance', performance, ['now'])
watch('Math', Math, ['random'])
watch('process.hrtime', process.hrtime, ['bigint'])
watch('process', process, [
  'hrtime',
  'uptime',
  'cpuUsage',
  'memoryUsage',
  'resourceUsage',
  'availableMemory',
])
watch('crypto', crypto, [
  'randomBytes',
  'randomUUID',
  'randomInt',
  'randomFill',
  'randomFillSync',
  'scrypt',
  'pbkdf2',
])
watch('webcrypto', crypto.webcrypto, ['getRandomValues', 'randomUUID'])
watch('os', os)
watch('globalThis', globalThis, ['setTimeout', 'setInterval', 'setImmediate', 'fetch'])
watch('timers', timers, ['setTimeout', 'setInterval'])
watch('timers/promises', timersPromises)
watch('AbortSignal', AbortSignal, ['timeout'])
watch('fs/promises', fsPromises)
watch('dns', dns)
watch('zlib', zlib, ['gzip', 'gunzip', 'deflate', 'inflate', 'brotliCompress', 'brotliDecompress'])
syncBuiltinESMExports()

process.on('exit', () => {
  if (reached.size === 0) return
  process.exitCode = 1
  process.stderr.write(`A schedule has reached the machine:\n${[...reached].join('\n')}\n`)
})
