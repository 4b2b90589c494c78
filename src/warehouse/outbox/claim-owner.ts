/** Who works on a write-back, and whether that process can still do anything. */
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { isProcessAlive, type ProcessIdentity, currentProcess } from '../database/process-identity.ts'

/** This process, as the column `owner` holds it. */
export function currentOwner(): string {
  const { host, pid, process } = currentProcess()
  return JSON.stringify({ host, pid, process })
}

/**
 * Whether the process is surely dead. A SQLite file is used by one machine only, so there whoever was started before the
 * machine was is dead; elsewhere a process that we cannot look at may live.
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

/** Null: it is no process. People insert rows by plain SQL, and a name may seem fit for a column of this name. */
function parseOwner(owner: string): ProcessIdentity | null {
  try {
    const { host, pid, process } = JSON.parse(owner)
    return { host: String(host), pid: Number(pid), process: String(process) }
  } catch {
    return null
  }
}
