/** Counts and lists the differences between the mirror and the service. */
import { isDeepStrictEqual } from 'node:util'
import type { StreamName } from '../../../schema/stream-specs.ts'
import { asJsonObject, parseJson, stringifyJson } from '../../values/json.ts'
import type { Difference } from '../core/audit.ts'
import type { MirrorGet } from '../core/mirror-get.ts'
import type { SyncProgress } from '../core/reports.ts'
import type { readServedChildren } from './read-rows.ts'

export type RowComparison = ReturnType<typeof createComparison>

export type ComparisonOptions = {
  readonly get: MirrorGet
  /** How many differences are listed; all are counted. */
  readonly limit: number
  readonly onProgress: (progress: SyncProgress) => void
}

export function createComparison({ get, limit, onProgress }: ComparisonOptions) {
  const none = { skipped: null as string | null, incomplete: null as string | null }
  const counts = new Map<
    StreamName,
    { compared: number; differing: number; requests: number } & typeof none
  >()
  const differences: Difference[] = []
  const count = (stream: StreamName) => {
    const known = counts.get(stream) ?? { compared: 0, differing: 0, requests: 0, ...none }
    counts.set(stream, known)
    return known
  }
  const reportProgress = (stream: StreamName, state: SyncProgress['state']) => {
    const { compared, differing, requests } = count(stream)
    onProgress({ stream, state, rows: compared, changed: 0, differing, requests, left: null })
  }
  /** Rows that differ, so that none counts twice. */
  const recorded = new Set<string>()
  const recordDifference = (difference: Difference) => {
    const row = `${difference.stream} ${difference.key}`
    if (recorded.has(row)) return
    recorded.add(row)
    count(difference.stream).differing += 1
    if (differences.length < limit) differences.push(difference)
  }
  return {
    counting: (stream: StreamName): MirrorGet => {
      return (...request) => {
        count(stream).requests += 1
        reportProgress(stream, 'running')
        return get(...request)
      }
    },
    /** Not every row of the service could be read. */
    incomplete: (stream: StreamName, why: string) => {
      count(stream).incomplete ??= why
    },
    add: (stream: StreamName, compared: number, found: readonly (Difference | null)[]) => {
      count(stream).compared += compared
      for (const difference of found) if (difference !== null) recordDifference(difference)
    },
    close: (stream: StreamName) => reportProgress(stream, 'done'),
    skip: (stream: StreamName, scope: string) => {
      count(stream).skipped = scope
      reportProgress(stream, 'skipped')
    },
    result: () => {
      const streams = [...counts].map(([stream, { requests: _, incomplete, ...report }]) => {
        return { stream, ...report, ...(incomplete === null ? {} : { incomplete }) }
      })
      const differing = streams.reduce((sum, report) => sum + report.differing, 0)
      return { streams, differences, truncated: differing > differences.length }
    },
  }
}

/** `here` undefined: it is not mirrored. */
export function findDifference(
  stream: StreamName,
  key: string,
  here: string | undefined,
  there: string,
  of: 'any' | 'both' = 'any',
): Difference | null {
  if (here === undefined) return { stream, key, kind: 'missing here', fields: [] }
  const fields = differingFields(here, there, of)
  return fields.length === 0 ? null : { stream, key, kind: 'different', fields }
}

export function goneThere(stream: StreamName, key: string): Difference {
  return { stream, key, kind: 'gone there', fields: [] }
}

/** Of the children of a parent. If the service did not list all of them, others may still exist. */
export function findChildDifferences(
  stream: StreamName,
  here: ReadonlyMap<string, string>,
  { rows, incomplete }: Awaited<ReturnType<typeof readServedChildren>>,
): Difference[] {
  const found = [...rows].flatMap(
    ([key, row]) => findDifference(stream, key, here.get(key), stringifyJson(row.item)) ?? [],
  )
  const missing = incomplete === null ? [...here.keys()].filter((key) => !rows.has(key)) : []
  return [...found, ...missing.map((key) => goneThere(stream, key))]
}

/**
 * The top-level fields in which two rows differ; `(all)` if one is no object. `both`: only fields
 * that both have, as a list may show others than a read by id.
 */
export function differingFields(
  here: string,
  there: string,
  of: 'any' | 'both' = 'any',
): readonly string[] {
  if (here === there) return []
  const a = parseJson(here)
  const b = parseJson(there)
  const mirrored = asJsonObject(a)
  const served = asJsonObject(b)
  if (mirrored === null || served === null) return isDeepStrictEqual(a, b) ? [] : ['(all)']
  const names = [...new Set([...Object.keys(mirrored), ...Object.keys(served)])]
  const isInBoth = (name: string) => Object.hasOwn(mirrored, name) && Object.hasOwn(served, name)
  const compared = of === 'any' ? names : names.filter(isInBoth)
  return compared.filter((name) => !isDeepStrictEqual(mirrored[name], served[name]))
}
