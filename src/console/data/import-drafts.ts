/** Imports a file that was sent by a browser: always as drafts, which send nothing. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importWritebacks } from '../../app/import.ts'
import type { Config, ProjectConfig } from '../../config/config.ts'
import type { RejectedImport } from '../../outbox/core/reports.ts'
import type { ImportOptions } from '../../outbox/import/import-file.ts'
import type { EpochMs } from '../../values/time.ts'

export type ImportRequest = {
  readonly name: string
  readonly source: AsyncIterable<Uint8Array>
  /** Empty: none. */
  readonly title: string
  readonly note: string
  readonly allowDuplicates: boolean
  /** Leaves out all columns that are not of an import. */
  readonly ignoreColumns: boolean
  readonly by: string
  readonly audit: NonNullable<ImportOptions['audit']>
}

/** `mistakesFile`: the rows with mistakes as CSV; null = there are none. */
export type ImportResult = {
  readonly rejected: RejectedImport | null
  readonly mistakesFile: Buffer | null
  readonly batch: string | null
  readonly queued: number
  readonly known: number
}

/** Throws UserError if the file cannot be read. */
export async function importDrafts(
  config: Config,
  project: ProjectConfig,
  { name, source, title, note, allowDuplicates, ignoreColumns, by, audit }: ImportRequest,
  now: EpochMs,
): Promise<ImportResult> {
  const folder = await mkdtemp(join(tmpdir(), 'deskmirror-import-'))
  try {
    const mistakesPath = join(folder, 'mistakes.csv')
    const parse = ignoreColumns ? { ignoreColumns: 'all' as const } : {}
    const report = await importWritebacks(
      config,
      project,
      { source, name, parse },
      {
        ...{ now, mistakesPath, allowDuplicates, createdBy: by, audit, expiresAt: null, draft: true },
        ...{ title: title === '' ? null : title, note: note === '' ? null : note },
        ...{ onReviews: null, onReview: async () => {}, onProgress: () => {}, notify: () => {} },
      },
    )
    if (report.outcome === 'mistaken' || report.outcome === 'imported before') {
      const hasFile = report.outcome === 'mistaken' && report.mistakesFile !== null
      const mistakesFile = hasFile ? await readFile(mistakesPath) : null
      return { rejected: report, mistakesFile, batch: null, queued: 0, known: 0 }
    }
    const { batch, queued, known } = report
    return { rejected: null, mistakesFile: null, batch, queued, known }
  } finally {
    await rm(folder, { recursive: true })
  }
}
