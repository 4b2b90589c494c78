/**
 * What an analyst may read: facts, dimensions, reports, and their descriptions for Metabase. No message text, no
 * bookkeeping, no queue of write-backs.
 */
import { type AnalyticsObject, analyticsObjects } from './layer.ts'
import { relationOf } from './relations.ts'

export const analystObjects: readonly AnalyticsObject[] = analyticsObjects.filter(({ name }) =>
  /^(dim|fct|report)_/.test(name),
)

export const analystObjectNames: readonly string[] = [...analystObjects.map(({ name }) => name), '_metabase_metadata']

export type AnalystRelation = {
  readonly column: string
  readonly target: string
  readonly targetColumn: string
  /** Both have a `project_id`, which must be equal, too. */
  readonly sharesProject: boolean
}

/** The columns of an object that lead to another one. */
export function relationsOf({ name, columns }: AnalyticsObject): readonly AnalystRelation[] {
  return Object.keys(columns).flatMap((column) => {
    const relation = relationOf(name, column)
    const target = analystObjects.find((object) => object.name === relation?.object)
    if (relation === null || target === undefined) return []
    const sharesProject = relation.column !== 'project_id' && 'project_id' in columns && 'project_id' in target.columns
    return [{ column, target: target.name, targetColumn: relation.column, sharesProject }]
  })
}
