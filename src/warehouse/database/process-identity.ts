/** Which process this is, and whether another one still lives: a number alone is used again by later processes. */
import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

export type ProcessIdentity = {
  readonly host: string
  readonly pid: number
  /** `machine@start`: the machine (or container) as it was booted, and when the process started within it. */
  readonly process: string
}

export function currentProcess(): ProcessIdentity {
  return { host: hostname(), pid: process.pid, process: `${machineId()}@${processStartTime(process.pid) ?? ''}` }
}

/** Null: it runs where we cannot look. */
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
    // EPERM: it lives, and belongs to somebody else.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Linux: boot and process namespace, so that a container is not taken for its host. Elsewhere the host's name has to do. */
function machineId(): string {
  try {
    return `${readBootId()}/${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return process.platform
  }
}

/** Another text each time the machine is booted; empty where it does not say. */
export function bootId(): string {
  try {
    return readBootId()
  } catch {
    return ''
  }
}

function readBootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

/** When a process started, in its system's words; undefined where that cannot be read. */
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
