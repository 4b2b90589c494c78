/**
 * Learns which fields a read by id always shows otherwise than the list, before an audit compares
 * by id. Rows that an audit corrected have since become exactly what they were: the list brought
 * that back, as no change of the service does to several rows, and then to the same fields again.
 */
import { unreadableRowReason } from '../../service/core/api-failure.ts'
import {
  differingFieldsBehaviour,
  listOnlyFields,
  toListShape,
} from '../../service/core/row-by-id-shape.ts'
import { stringifyJson } from '../../values/json.ts'
import type { AuditedStream } from '../core/audit.ts'
import { listStreams } from '../core/streams.ts'
import type { AuditStore } from '../sql/audits.ts'
import type { Mirror } from '../sql/mirror.ts'
import { storedHashOf } from './compare-parent.ts'
import { differingFields } from './comparison.ts'
import type { CompareDeps } from './read-rows.ts'

type LearnDeps = CompareDeps & Readonly<{ mirror: Mirror; store: AuditStore }>

/** So many rows have to show it. Those that are read again, of each kind. */
const minRows = 3
const maxRows = 5

/** As many as show whether rows had to be corrected in vain. */
const maxDifferences = 200

/** `sample`: rows that show whether what was learned before still holds. */
export async function learnListedFields(
  deps: LearnDeps,
  stream: AuditedStream,
  sample: readonly string[],
) {
  const known = listOnlyFields(await deps.mirror.readBehaviours(), stream)
  const restored = await readRestoredRows(deps, stream)
  const found = [...(await countDifferingFields(deps, stream, restored)).counts].flatMap(
    ([field, rows]) => (rows >= minRows ? [field] : []),
  )
  const probe =
    known.size === 0 ? null : await countDifferingFields(deps, stream, sample.slice(0, maxRows))
  const isStill = (field: string) =>
    probe === null || probe.compared === 0 || probe.counts.has(field)
  const fields = [...new Set([...[...known].filter(isStill), ...found])].sort()
  if (fields.length === known.size && fields.every((field) => known.has(field))) return
  const evidence =
    `${restored.length} rows that were read by id and stored became ` +
    'again what the list had shown before'
  const observations = [
    { name: differingFieldsBehaviour(stream), value: JSON.stringify(fields), evidence },
  ]
  await deps.mirror.commit({ stream, rows: [], requestedAt: deps.now(), observations })
}

/** Ids of rows that an audit has corrected, and that are again what they were before. */
async function readRestoredRows(
  { store, mirror }: LearnDeps,
  stream: AuditedStream,
): Promise<readonly string[]> {
  const hashes = new Map<string, string | null>()
  for (const { stream: of, key, kind, storedHash } of await store.listDifferences(
    stream,
    maxDifferences,
  ))
    if (of === stream && kind === 'different') hashes.set(key, storedHash)
  const stored = await mirror.readRawById(stream, [...hashes.keys()])
  const restored = [...stored].filter(([id, raw]) => storedHashOf(raw) === hashes.get(id))
  return restored.map(([id]) => id).slice(0, maxRows)
}

/** In how many of these rows each field differs from the mirror, of those that both show. */
async function countDifferingFields(
  deps: LearnDeps,
  stream: AuditedStream,
  ids: readonly string[],
) {
  const { rowPath, parseRows } = listStreams[stream]
  const stored = await deps.mirror.readRawById(stream, ids)
  const counts = new Map<string, number>()
  let compared = 0
  for (const [id, raw] of stored) {
    const response = await deps
      .get(stream, rowPath(deps.projectId, id), {}, 'reconcile')
      .catch((error) => {
        if (unreadableRowReason(error) === null) throw error
        return null
      })
    if (response === null) continue
    compared += 1
    const [row] = parseRows([toListShape(raw, response.data)], deps.projectId).rows
    for (const field of row === undefined
      ? []
      : differingFields(raw, stringifyJson(row.item), 'both'))
      counts.set(field, (counts.get(field) ?? 0) + 1)
  }
  return { compared, counts }
}
