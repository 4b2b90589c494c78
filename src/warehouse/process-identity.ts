/** Identifies processes, and tells whether one is alive. A process id is not enough, as it is reused. */
import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

export type ProcessIdentity = {
  readonly host: string
  readonly pid: number
  /** `machine@start`: the machine (or container) as it was booted, and when the process started within it. */
  readonly process: string
}

/** One on another machine counts as dead after this long without a heartbeat; it should send several within it. */
export const heartbeatTimeoutMs = 60_000

/** `process 4711 on host-1` */
export function processLabel({ host, pid }: Pick<ProcessIdentity, 'host' | 'pid'>): string {
  return `process ${pid} on ${host}`
}

export function currentProcess(): ProcessIdentity {
  return { host: hostname(), pid: process.pid, process: `${machineId()}@${processStartTime(process.pid) ?? ''}` }
}

/** Null: it runs on another machine or in another container, where its state cannot be seen. */
export function isProcessAlive(other: ProcessIdentity, own: ProcessIdentity): boolean | null {
  const [machineOfOther, start] = other.process.split('@')
  if (other.host !== own.host || machineOfOther !== own.process.split('@')[0]) return null
  return pidExists(other.pid) && processStartTime(other.pid) === start
}

function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it is alive and belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Linux: boot id and process namespace, which tell a container from its host. Elsewhere the host name must do. */
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

/** When a process started, in the system's own format; undefined if that cannot be read. */
function processStartTime(pid: number): string | undefined {
  try {
    // Field 22 of proc(5); the second one, a name in parentheses, may hold spaces.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, '').split(' ')[20]
  } catch {
    return process.platform === 'win32' || process.platform === 'linux' ? undefined : readStartFromPs(pid)
  }
}

function readStartFromPs(pid: number): string | undefined {
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' })
      .trim()
      .replace(/@/g, '')
  } catch {
    return undefined
  }
}
