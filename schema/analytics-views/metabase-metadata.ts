/**
 * What Metabase reads from a table `_metabase_metadata` when it syncs a database: descriptions and types of columns.
 * Source: metabase/metabase, src/metabase/sync/sync_metadata/metabase_metadata.clj, read 2026-11-21.
 */
import type { ViewColumn } from './analytics-view.ts'
import { type AnalyticsObject, analyticsObjects } from './layer.ts'

export type MetadataRow = { readonly keypath: string; readonly value: string }

export function metabaseMetadata(): MetadataRow[] {
  return analyticsObjects.flatMap(describeObject)
}

function describeObject({ name, note, caveat, columns }: AnalyticsObject): MetadataRow[] {
  return [
    { keypath: `${name}.description`, value: note },
    ...(caveat === null ? [] : [{ keypath: `${name}.caveats`, value: caveat }]),
    ...Object.entries(columns).flatMap(([column, described]) => describeColumn(`${name}.${column}`, described)),
  ]
}

/** Most types Metabase guesses from the names of columns. */
const semanticTypes = { seconds: 'type/Duration', share: 'type/Percentage' } as const

function describeColumn(path: string, { note, unit }: ViewColumn): MetadataRow[] {
  const description = { keypath: `${path}.description`, value: note }
  if (unit === null) return [description]
  return [description, { keypath: `${path}.semantic_type`, value: semanticTypes[unit] }]
}
