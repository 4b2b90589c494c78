/** Compares the mirror with the service, as a whole or by a random sample. Changes neither. */
import { missingScope, throwIfAborted } from '../../service/core/api-failure.ts'
import { presentTime } from '../../values/time.ts'
import { UserError } from '../../values/user-error.ts'
import { type AuditedStream, auditedStreams, withoutHash } from '../core/audit.ts'
import { clockOffsetCursor } from '../core/mirror.ts'
import { allStreams, listStreams } from '../core/streams.ts'
import type { Mirror } from '../sql/mirror.ts'
import { mapConcurrently } from '../sync/concurrency.ts'
import { drawSample, type SampleOptions } from './audit.ts'
import { wrongColumns } from './compare-columns.ts'
import { auditedChild, compareParent } from './compare-parent.ts'
import {
  type ComparisonOptions,
  createComparison,
  goneThere,
  type RowComparison,
} from './comparison.ts'
import type { CompareDeps } from './read-rows.ts'
import { neverRead, runVerify, unreadableText, type VerifyDeps } from './verify.ts'

/** `sampleSize`: only so many conversations and visitors, with their children; else everything. */
export async function verifyMirror({
  sampleSize,
  ...deps
}: Omit<VerifyDeps & VerifySampleDeps, 'mirror' | 'present' | 'random' | 'sampleSize'> & {
  readonly mirror: Mirror
  readonly sampleSize?: number | undefined
}) {
  if (sampleSize !== undefined) return runVerifySample({ ...deps, sampleSize, random: Math.random })
  const localTime = Math.floor(deps.now() / 1000)
  // As the last sync saw the service's clock.
  const serviceTime = localTime + (Number(await deps.mirror.readCursor(clockOffsetCursor)) || 0)
  const newestMessage = (await deps.mirror.latestMessageTime()) ?? 0
  const comparison = createComparison(deps)
  await runVerify(
    { ...deps, present: presentTime({ localTime, serviceTime, newestMessage }) },
    comparison,
  )
  for (const stream of allStreams)
    if (deps.streams.has(stream.name))
      for await (const difference of wrongColumns(deps, stream))
        comparison.add(stream.name, 0, [difference])
  return comparison.result()
}

type VerifySampleDeps = CompareDeps &
  ComparisonOptions &
  SampleOptions & { readonly mirror: Pick<Mirror, 'readStreamStatuses'> }

const concurrency = 8

/**
 * Without streams whose scope the key lacks. Throws UserError if nothing was drawn, or ApiError.
 */
export async function runVerifySample(deps: VerifySampleDeps) {
  const comparison = createComparison(deps)
  const drawn = auditedStreams.filter((name) => deps.streams.has(name))
  if (drawn.length === 0) {
    const why = 'conversations and visitors are drawn, and neither is among the streams'
    const next = 'name one of them with --streams, or leave out --sample'
    throw new UserError({ what: 'cannot compare a sample', why, next, exitCode: 2 })
  }
  for (const stream of drawn) {
    try {
      await compareSample({ ...deps, get: comparison.counting(stream) }, comparison, stream)
      comparison.close(stream)
    } catch (error) {
      const scope = missingScope(error, listStreams[stream].scope)
      if (scope === null) throw error
      comparison.skip(stream, scope)
    }
  }
  // Rows that are missing here are not drawn.
  const children = drawn.flatMap((name) => auditedChild(name, deps.streams)?.name ?? [])
  const sampled = [...drawn, ...children]
  const statuses = await deps.mirror.readStreamStatuses(sampled)
  for (const name of sampled)
    if (statuses.get(name) !== 'complete') comparison.incomplete(name, neverRead)
  return comparison.result()
}

async function compareSample(
  deps: VerifySampleDeps,
  comparison: RowComparison,
  stream: AuditedStream,
): Promise<void> {
  const child = auditedChild(stream, deps.streams)
  const { ids } = await drawSample(deps, stream)
  await mapConcurrently(ids, concurrency, async (id) => {
    throwIfAborted(deps.signal)
    const found = await compareParent(deps, stream, id)
    if (found.kind === 'unreadable') return comparison.incomplete(stream, unreadableText(id))
    if (found.kind === 'gone') return comparison.add(stream, 1, [goneThere(stream, id)])
    comparison.add(stream, 1, found.differences.map(withoutHash))
    if (child === null || found.children === null) return
    comparison.add(child.name, found.children.compared, [])
    if (found.children.incomplete !== null)
      comparison.incomplete(child.name, found.children.incomplete)
  })
}
