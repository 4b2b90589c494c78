/** Decides which write-backs of a project stay queued for now: after many failures, or while the key lacks a scope. */
import type { ProjectConfig } from '../../config/config.ts'
import { commandHintFor } from '../../core/command-hint.ts'
import type { Operation } from '../../core/outbox/writeback-request.ts'
import type { EpochMs, Ms } from '../../core/time.ts'
import { evaluateCircuits, outcomesConsidered } from '../../writeback/send/circuit-breaker.ts'
import { keyFingerprint } from '../request-budgets.ts'
import { circuitNotices } from '../writeback-notices.ts'
import type { WorkerResources } from './resources.ts'

/** After this time, or with another key, a missing scope is tried again. */
const missingScopeTtlMs: Ms = 15 * 60_000

type MissingScopes = { readonly operations: readonly Operation[]; readonly key: string; readonly until: EpochMs }

export function createCircuitBreaker({ warehouse, log }: WorkerResources) {
  const missingScopes = new Map<string, MissingScopes>()
  const logged = new Map<string, string>()
  /** Logs a reason once, until it changes. */
  const logOnce = ({ projectId, name }: ProjectConfig, why: string) => {
    if (why !== '' && logged.get(projectId) !== why) log.warn({ event: 'writebacks.circuit_open', project: name, why })
    logged.set(projectId, why)
  }
  const missingScopesOf = (project: ProjectConfig): readonly Operation[] => {
    const known = missingScopes.get(project.projectId)
    return known?.key === keyFingerprint(project) && known.until >= Date.now() ? known.operations : []
  }
  return {
    stateOf: async (project: ProjectConfig) => {
      const outcomes = await warehouse.outbox(project.projectId).listRecentOutcomes(outcomesConsidered)
      const openCircuits = evaluateCircuits(outcomes, Date.now())
      logOnce(project, circuitNotices(openCircuits, commandHintFor(project.name)).join(' '))
      return { openCircuits, missingScopes: missingScopesOf(project) }
    },
    recordMissingScopes: (project: ProjectConfig, operations: readonly Operation[]) => {
      const until = Date.now() + missingScopeTtlMs
      missingScopes.set(project.projectId, { operations, key: keyFingerprint(project), until })
    },
  }
}
