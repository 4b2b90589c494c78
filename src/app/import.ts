/** Opens what an import of write-backs needs, and runs the import or its dry run. */

import { toColumnRules } from '../config/column-settings.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import { replyNameOf } from '../config/reply-settings.ts'
import { checkFile, importFile } from '../imports/enqueue-file.ts'
import type {
  CheckFileOptions,
  ImportFile,
  ImportOptions,
  ImportSource,
  MistakeKind,
  QueuedImport,
  RejectedImport,
} from '../imports/imports.ts'
import { prepareFile, withImportFile } from '../imports/open-file.ts'
import { prepareReplies } from '../imports/prepare-replies.ts'
import { estimateSends, needsApproval } from '../outbox/core/batches.ts'
import type { OnReviews, Outbox, ReviewSummary, SendEstimate } from '../outbox/outbox.ts'
import type { ProjectName } from '../values/project.ts'
import { createWarehouseRetry, type WarehouseRetryOptions } from '../warehouse/retry.ts'
import { type Warehouse, withWarehouse } from './open.ts'
import { countUnsettled, openOutbox, readPace, withOutbox } from './outbox.ts'
import { type ReviewOptions, reviewImportFile } from './review.ts'

export type ImportReport = RejectedImport | (QueuedImport & SendEstimate)

export type DryRunReport =
  | RejectedImport
  | (SendEstimate & {
      readonly outcome: 'reviewed'
      readonly project: ProjectName
      readonly review: ReviewSummary
      /** They would need approval. */
      readonly draft: boolean
      readonly notices: readonly MistakeKind[]
      readonly emptyRows: number
      readonly columns: Readonly<Record<string, string>>
    })

/** Queues all rows of a file, or none. Throws UserError if it cannot be read. */
export function importWritebacks(
  config: Config,
  project: ProjectConfig,
  source: ImportSource,
  options: Omit<ImportOptions, 'approveOver' | 'project' | 'onChecked'> &
    Pick<WarehouseRetryOptions, 'notify'> & {
      readonly onReviews: OnReviews | null
      /** Called before anything is queued. */
      readonly onReview: (review: ReviewSummary) => Promise<void>
    },
): Promise<ImportReport> {
  const { approveOver, name } = project
  return withImportFile(signedBy(config, project, source, options), (given) => {
    const queueRows = async (warehouse: Warehouse) => {
      const outbox = await openOutbox(config, project, warehouse)
      const file = await prepare(project, warehouse, outbox, given)
      const queuedEarlier = await countUnsettled(outbox)
      const onChecked = async () => {
        await options.onReview(await reviewImportFile(project, warehouse, file, options))
      }
      const importOptions = { ...options, onChecked, project: name, approveOver }
      const queued = await importFile(outbox, file, importOptions, warehouse.retry.run)
      if (queued.outcome === 'mistaken' || queued.outcome === 'imported before') return queued
      return {
        ...queued,
        ...estimateSends(await readPace(warehouse, project), queuedEarlier, queued.queued),
      }
    }
    return withWarehouse(config, queueRows, { retry: createWarehouseRetry(options) })
  })
}

/** Replies that name no sender are signed by the person who imports them. */
function signedBy(
  { console: { people } }: Config,
  project: ProjectConfig,
  source: ImportSource,
  { createdBy }: { readonly createdBy?: string | null },
): ImportSource {
  const senderName = source.parse.senderName ?? replyNameOf(people, project, createdBy ?? '')
  return senderName === null ? source : { ...source, parse: { ...source.parse, senderName } }
}

async function prepare(
  project: ProjectConfig,
  warehouse: Warehouse,
  outbox: Outbox,
  given: ImportFile,
): Promise<ImportFile> {
  const context = warehouse.projectDb(project.projectId)
  const file = await prepareFile(context, outbox, given, toColumnRules(project))
  return prepareReplies(context, file, project)
}

/** Nothing is sent before it is approved, and nobody watches. */
export const asDrafts = {
  draft: true,
  expiresAt: null,
  onReviews: null,
  onReview: async () => {},
  onProgress: () => {},
  notify: () => {},
}

type DryRunOptions = Omit<CheckFileOptions, 'project' | 'onProgress'> &
  ReviewOptions & {
    readonly expiresAt: string | null
    readonly createdBy?: string | null
    /** More rows than this need approval, as does every import with `draft`. */
    readonly draft: boolean
  }

/** What an import would change, as the mirror shows it. Queues nothing, makes no request. */
export function dryRunImport(
  config: Config,
  project: ProjectConfig,
  source: ImportSource,
  options: DryRunOptions,
): Promise<DryRunReport> {
  const { name, approveOver } = project
  return withImportFile(signedBy(config, project, source, options), (given) =>
    withOutbox(config, project, async (outbox, warehouse): Promise<DryRunReport> => {
      const file = await prepare(project, warehouse, outbox, given)
      const checked = await checkFile(outbox, file, {
        ...options,
        project: name,
        onProgress: () => {},
      })
      if ('outcome' in checked) return checked
      const { notices, emptyRows, columns, validRows } = checked
      return {
        outcome: 'reviewed',
        project: name,
        review: await reviewImportFile(project, warehouse, file, options),
        draft: needsApproval(validRows, {
          approveOver,
          draft: options.draft || checked.mustBeSeen,
        }),
        notices,
        emptyRows,
        columns,
        ...estimateSends(
          await readPace(warehouse, project),
          await countUnsettled(outbox),
          validRows,
        ),
      }
    }),
  )
}
