/** Which process owns a claim, and whether that process is still alive. */
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { currentProcess, isProcessAlive, type ProcessIdentity } from '../database/process-identity.ts'

/** This process, as the column `owner` holds it. */
export function currentOwner(): string {
  const { host, pid, process } = currentProcess()
  return JSON.stringify({ host, pid, process })
}

/**
 * Whether the process is certainly dead. A SQLite file is used by one machine, so a process from before its last boot is
 * dead. With Postgres, a process on another machine may be alive.
 */
export function isOwnerDead(owner: string, kind: DatabaseKind): boolean {
  const other = parseOwner(owner)
  if (other === null) return true
  const own = currentProcess()
  const alive = isProcessAlive(other, own)
  if (alive !== null) return !alive
  const boot = ({ process }: ProcessIdentity) => process.split('/')[0]
  return kind === 'sqlite' && other.process.includes('/') && boot(other) !== boot(own)
}

/** Null if the text does not identify a process, as rows inserted by SQL may hold anything in `owner`. */
function parseOwner(owner: string): ProcessIdentity | null {
  try {
    const { host, pid, process } = JSON.parse(owner)
    return { host: String(host), pid: Number(pid), process: String(process) }
  } catch {
    return null
  }
}
