/** What a learned definition means for what was proven before: a fact to record, or a change to report. */
import type { ServiceBehaviour } from '../row.ts'
import type { LearnedDefinition } from './learn-rollup-definition.ts'

/** Prefix of the names in `service_behaviours`. */
export const definitionBehaviours = 'analytics.'

export type DefinitionChange = {
  /** To record; null = nothing new is proven. */
  readonly behaviour: ServiceBehaviour | null
  /** For people; null = nothing has changed. */
  readonly notice: string | null
}

/** `proven`: the definition that was proven before. `wasEqual`: it was equal on all days when it was last learned. */
export function toDefinitionChange(
  metric: string,
  { verdict, best, days, days_equal, next_best_equal }: LearnedDefinition,
  { proven, wasEqual }: { readonly proven: string | null; readonly wasEqual: boolean },
): DefinitionChange {
  const name = `${definitionBehaviours}${metric}`
  if (verdict === 'proven' && best !== null) {
    const evidence = `equal on ${days_equal} of ${days} final days; the next best definition on ${next_best_equal}`
    if (proven === best.name) return { behaviour: null, notice: null }
    const notice = `The service's behaviour changed: ${name} was "${proven}" and is now "${best.name}" (${evidence}).`
    return { behaviour: { name, value: best.name, evidence }, notice: proven === null ? null : notice }
  }
  if (proven === null || !wasEqual || days_equal === days) return { behaviour: null, notice: null }
  const notice =
    `The rollup's ${metric} no longer is "${proven}": ${days - days_equal} of the last ${days} final days differ. ` +
    'Either the service counts differently now, or rows are missing here; report_rollup_day shows the days.'
  return { behaviour: null, notice }
}
