/**
 * What an analyst may read: facts, dimensions, reports, and their descriptions for Metabase. No message text, no
 * bookkeeping, no queue of write-backs.
 */
import { type AnalyticsObject, analyticsObjects } from './layer.ts'

export const analystObjects: readonly AnalyticsObject[] = analyticsObjects.filter(({ name }) =>
  /^(dim|fct|report)_/.test(name),
)

export const analystObjectNames: readonly string[] = [...analystObjects.map(({ name }) => name), '_metabase_metadata']
