/** Imports of write-backs with real parts: all of a file or none, and what it would change. */
import type { Config, ProjectConfig } from '../config.ts'
import { CallFailed } from '../core/failure.ts'
import type { QueueDesk } from '../core/outbox/desk.ts'
import type { ImportReport, PreviewReport } from '../core/outbox/report.ts'
import type { BudgetView } from '../core/report.ts'
import { checkLines } from '../imports/check.ts'
import {
  digestOf,
  type Import,
  type Imported,
  type ImportOptions,
  importWishes,
  isOver,
  linesOf,
} from '../imports/import.ts'
import type { Line } from '../imports/line.ts'
import { spooled } from '../imports/spool.ts'
import type { Logger } from '../log.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { type PreviewDeps, preview, type Wished } from '../writeback/preview.ts'
import { counted } from './counted.ts'
import { withBudgets } from './opened.ts'
import type { Patience, PatienceOptions } from './patience.ts'
import { outlook, unsettled, withPatientQueue, withQueue } from './queue.ts'
import { stoppedError, tellBudget, withService } from './service.ts'
import { writebackDeps } from './writebacks.ts'

export type ImportSource = Pick<Import, 'name' | 'format'> & {
  /** A path, or what can be read only once. */
  readonly source: string | AsyncIterable<Uint8Array>
}

/** All lines of a file, or none. Throws UserError where it cannot be read. */
export function importWritebacks(
  config: Config,
  project: ProjectConfig,
  given: ImportSource,
  options: Omit<ImportOptions, 'approveOver'> & Pick<PatienceOptions, 'tell'>,
): Promise<ImportReport> {
  const { name } = project
  return withSpooled(given, (file) =>
    withPatientQueue(config, project, options, async (desk, warehouse, patience): Promise<ImportReport> => {
      const ahead = await unsettled(desk)
      const done = await patiently(desk, file, { ...options, approveOver: project.approveOver }, patience)
      switch (done.kind) {
        case 'mistaken':
          return {
            outcome: 'mistaken',
            project: name,
            mistaken: done.checked.mistaken,
            mistakes: done.checked.mistakes,
          }
        case 'imported before':
          return { outcome: 'imported before', project: name, batch: done.batch }
        case 'queued': {
          const { status, queued, known } = done
          const batch = queued === 0 ? null : done.batch
          return {
            outcome: status,
            project: name,
            batch,
            queued,
            known,
            ...(await outlook(warehouse, project, ahead, queued)),
          }
        }
      }
    }),
  )
}

/** The same bytes are never queued twice, so all of it can be tried again, from the file. */
async function patiently(desk: QueueDesk, file: Import, options: ImportOptions, { keep }: Patience): Promise<Imported> {
  let [tries, rows] = [0, 0]
  const onQueueing = (count: number) => {
    rows = count
    options.onQueueing(count)
  }
  const done = await keep(() => {
    tries += 1
    return importWishes(desk, file, { ...options, onQueueing })
  })
  if (tries === 1 || done.kind !== 'imported before') return done
  // At the first try nobody had imported it: so it was this import, and only its answer was lost.
  const counts = await desk.summary({ batch: done.batch })
  const queued = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const status = counts.draft === undefined ? 'queued' : 'draft'
  return { kind: 'queued', batch: done.batch, status, queued, known: Math.max(0, rows - queued) }
}

export type PreviewOptions = {
  /** Lines whose records are looked at. */
  readonly limit: number
  readonly expiresAt: string | null
  readonly signal: AbortSignal
  readonly onProgress: PreviewDeps['onProgress']
  readonly onBudget: (budget: BudgetView) => void
  readonly log: Logger
}

/** What an import would change. Queues nothing and sends nothing. Throws UserError: denied, nobody answers. */
export function previewImport(
  config: Config,
  project: ProjectConfig,
  given: ImportSource,
  options: PreviewOptions,
): Promise<PreviewReport> {
  const { name } = project
  return withSpooled(given, (file) =>
    withQueue(config, project, async (desk, warehouse): Promise<PreviewReport> => {
      const batch = await desk.importedAs(digestOf(file))
      if (batch !== null) return { outcome: 'imported before', project: name, batch }
      const { good: rows, mistaken, mistakes } = await checkLines(linesOf(file), Date.now())
      if (mistaken > 0) return { outcome: 'mistaken', project: name, mistaken, mistakes }
      const wished = await firstOf(linesOf(file), options.limit)
      return {
        outcome: 'looked',
        project: name,
        ...(await looked(config, project, { desk, warehouse }, wished, options)),
        beyond: rows - wished.length,
        draft: isOver(rows, project.approveOver),
        ...(await outlook(warehouse, project, await unsettled(desk), rows)),
      }
    }),
  )
}

function looked(
  config: Config,
  project: ProjectConfig,
  { desk, warehouse }: { readonly desk: QueueDesk; readonly warehouse: Warehouse },
  wished: readonly Wished[],
  { signal, log, expiresAt, onProgress, onBudget }: PreviewOptions,
) {
  return withBudgets(config, warehouse, log, (budgets) =>
    withService({ ...project, readOnly: true }, budgets.of(project), { signal, log }, async (service) => {
      const deps: PreviewDeps = {
        ...writebackDeps(warehouse, project, service, log),
        rawOf: warehouse.mirror(project.projectId).rawOf,
        knownRefs: desk.knownRefs,
        expiresAt,
        onProgress: (count) => {
          onProgress(count)
          tellBudget(service, onBudget)
        },
      }
      try {
        const lines = await counted(warehouse, project, 'dry_run', service, () => preview(deps, wished))
        return { lines, requests: service.client.requests() }
      } catch (error) {
        if (!(error instanceof CallFailed) || error.failure.kind === 'aborted') throw error
        throw stoppedError(project, error.failure, service.client.heard())
      }
    }),
  )
}

/** Nothing behind the last one is read, as nothing depends on it. */
async function firstOf(lines: AsyncIterable<Line>, limit: number): Promise<readonly Wished[]> {
  const first: Wished[] = []
  if (limit === 0) return first
  for await (const { line, read } of lines) {
    if (read.ok) first.push({ line, wish: read.wish })
    if (first.length >= limit) break
  }
  return first
}

async function withSpooled<T>({ source, name, format }: ImportSource, work: (file: Import) => Promise<T>): Promise<T> {
  const file = await spooled(source)
  try {
    return await work({ spooled: file, name, format })
  } finally {
    await file.close()
  }
}
