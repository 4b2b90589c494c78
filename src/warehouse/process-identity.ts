/**
 * Tells whether a process is alive. A process id is reused, and a killed process stays listed until
 * another one asks for its end. One without a sign of life for a while is taken for dead.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { EpochMs, Ms } from '../values/time.ts'
import { errorCode } from '../values/user-error.ts'

export type ProcessIdentity = {
  readonly host: string
  readonly pid: number
  /** `machine@start`: the machine (or container) as it was booted, and the start within it. */
  readonly process: string
}

/** It counts as dead after this long without a heartbeat; it should send several within it. */
export const heartbeatTimeoutMs: Ms = 60_000

/** `process 4711 on host-1` */
export function processLabel({ host, pid }: Pick<ProcessIdentity, 'host' | 'pid'>): string {
  return `process ${pid} on ${host}`
}

export function currentProcess(): ProcessIdentity {
  return {
    host: hostname(),
    pid: process.pid,
    process: `${machineId()}@${processStartTime(process.pid) ?? ''}`,
  }
}

/** Null: it cannot be seen, on another machine, in another container or of another user. */
export function isProcessAlive(other: ProcessIdentity, own: ProcessIdentity): boolean | null {
  const [machineOfOther, start = ''] = other.process.split('@')
  if (other.host !== own.host || machineOfOther !== own.process.split('@')[0]) return null
  if (!pidExists(other.pid)) return false
  const found = processStartTime(other.pid)
  if (found === 'dead') return false
  if (found === undefined) return start === '' ? true : null
  return found === start
}

/** By its heartbeats. `beat_at`: the last one; from the future, it counts. */
export function isHolderAlive(
  holder: ProcessIdentity & { readonly beat_at: EpochMs },
  own: ProcessIdentity,
  now: EpochMs,
  timeoutMs: Ms = heartbeatTimeoutMs,
): boolean {
  return isProcessAlive(holder, own) !== false && now - holder.beat_at < timeoutMs
}

function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it is alive and belongs to another user.
    return errorCode(error) === 'EPERM'
  }
}

/** Linux: boot id and process namespace, which tell a container from its host; else the host. */
function machineId(): string {
  try {
    return `${readBootId()}/${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return process.platform
  }
}

/** Changes with each boot of the machine; empty if the system does not provide it. */
export function bootId(): string {
  try {
    return readBootId()
  } catch {
    return ''
  }
}

const readBootId = (): string => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()

/** In the format of the system. `dead`: it has ended, and its parent has not yet asked for that. */
function processStartTime(pid: number): string | undefined {
  try {
    // Fields 3 and 22 of proc(5); the second one, a name in parentheses, may hold spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return /^[ZXx]$/.test(fields[0] ?? '') ? 'dead' : fields[19]
  } catch {
    return process.platform === 'win32' || process.platform === 'linux'
      ? undefined
      : readStartFromPs(pid)
  }
}

function readStartFromPs(pid: number): string | undefined {
  try {
    const columns = ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)]
    const [state = '', ...start] = execFileSync('ps', columns, { encoding: 'utf8' })
      .trim()
      .split(/\s+/)
    return state.startsWith('Z') ? 'dead' : start.join(' ').replaceAll('@', '')
  } catch {
    return undefined
  }
}
