/** What stays queued of each project for now: while much goes wrong, or the key lacks a scope. */
import type { ProjectConfig } from '../../config.ts'
import type { Operation } from '../../core/outbox/wish.ts'
import type { EpochMs, Ms } from '../../core/time.ts'
import { typedFor } from '../../core/typed.ts'
import { fatesLookedAt, type Held, heldBack } from '../../writeback/breaker.ts'
import { fingerprint } from '../budgets.ts'
import { heldNotices } from '../notices.ts'
import type { Means } from './means.ts'

export type Brakes = {
  readonly of: (project: ProjectConfig) => Promise<{ readonly held: Held; readonly lacking: readonly Operation[] }>
  readonly noteLacking: (project: ProjectConfig, operations: readonly Operation[]) => void
}

/** A scope that the key lacks is asked for again after so long, or with another key. */
const deniedForMs: Ms = 15 * 60_000

type Denied = { readonly operations: readonly Operation[]; readonly key: string; readonly until: EpochMs }

export function createBrakes({ warehouse, log }: Means): Brakes {
  const denied = new Map<string, Denied>()
  const told = new Map<string, string>()
  /** Said once, until it is something else. */
  const tell = ({ projectId, name }: ProjectConfig, why: string) => {
    if (why !== '' && told.get(projectId) !== why) log.warn({ event: 'writebacks.held', project: name, why })
    told.set(projectId, why)
  }
  const lackingOf = (project: ProjectConfig): readonly Operation[] => {
    const known = denied.get(project.projectId)
    return known === undefined || known.key !== fingerprint(project) || known.until < Date.now() ? [] : known.operations
  }
  return {
    of: async (project) => {
      const held = heldBack(await warehouse.outbox(project.projectId).lastFates(fatesLookedAt), Date.now())
      tell(project, heldNotices(held, typedFor(project.name)).join(' '))
      return { held, lacking: lackingOf(project) }
    },
    noteLacking: (project, operations) => {
      denied.set(project.projectId, { operations, key: fingerprint(project), until: Date.now() + deniedForMs })
    },
  }
}
