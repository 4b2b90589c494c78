/** What stays queued of each project for now: while much goes wrong, or the key lacks a scope. */
import type { ProjectConfig } from '../../config/load.ts'
import type { Operation } from '../../core/outbox/writeback-request.ts'
import type { EpochMs, Ms } from '../../core/time.ts'
import { commandHintFor } from '../../core/command-hint.ts'
import { outcomesConsidered, type CircuitState, evaluateCircuits } from '../../writeback/send/circuit-breaker.ts'
import { keyFingerprint } from '../request-budgets.ts'
import { circuitNotices } from '../writeback-notices.ts'
import type { WorkerResources } from './resources.ts'

export type CircuitBreaker = {
  readonly stateOf: (project: ProjectConfig) => Promise<{ readonly held: CircuitState; readonly lacking: readonly Operation[] }>
  readonly recordMissingScopes: (project: ProjectConfig, operations: readonly Operation[]) => void
}

/** A scope that the key lacks is asked for again after so long, or with another key. */
const missingScopeTtlMs: Ms = 15 * 60_000

type MissingScopes = { readonly operations: readonly Operation[]; readonly key: string; readonly until: EpochMs }

export function createCircuitBreaker({ warehouse, log }: WorkerResources): CircuitBreaker {
  const missingScopes = new Map<string, MissingScopes>()
  const logged = new Map<string, string>()
  /** Said once, until it is something else. */
  const logOnce = ({ projectId, name }: ProjectConfig, why: string) => {
    if (why !== '' && logged.get(projectId) !== why) log.warn({ event: 'writebacks.held', project: name, why })
    logged.set(projectId, why)
  }
  const missingScopesOf = (project: ProjectConfig): readonly Operation[] => {
    const known = missingScopes.get(project.projectId)
    return known === undefined || known.key !== keyFingerprint(project) || known.until < Date.now() ? [] : known.operations
  }
  return {
    stateOf: async (project) => {
      const held = evaluateCircuits(await warehouse.outbox(project.projectId).listRecentOutcomes(outcomesConsidered), Date.now())
      logOnce(project, circuitNotices(held, commandHintFor(project.name)).join(' '))
      return { held, lacking: missingScopesOf(project) }
    },
    recordMissingScopes: (project, operations) => {
      missingScopes.set(project.projectId, { operations, key: keyFingerprint(project), until: Date.now() + missingScopeTtlMs })
    },
  }
}
