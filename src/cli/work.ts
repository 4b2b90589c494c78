/** What the commands ask of the rest of the program. They know nothing else of it, so a test can hand in literals. */
import type { Config, ProjectConfig } from '../config.ts'
import type { RunMode } from '../core/mirror.ts'
import type { BudgetView, CheckItem, StatusReport, SyncProgress, SyncReport, VerifyReport } from '../core/report.ts'
import type { StreamName } from '../core/row.ts'
import type { Logger } from '../log.ts'

export type SyncOptions = {
  readonly mode: RunMode
  readonly streams: readonly StreamName[]
  /** Wait for another run of the project to end, instead of refusing. */
  readonly wait: boolean
  readonly signal: AbortSignal
  readonly onProgress: (progress: SyncProgress) => void
  readonly onBudget: (budget: BudgetView) => void
  readonly log: Logger
}

export type VerifyOptions = Pick<SyncOptions, 'streams' | 'signal' | 'onProgress' | 'log'> & {
  /** How many differences are listed; all are counted. */
  readonly limit: number
}

export type Migrated = { readonly from: string | null; readonly to: string; readonly applied: readonly string[] }

export type Work = {
  readonly syncProject: (config: Config, project: ProjectConfig, options: SyncOptions) => Promise<SyncReport>
  readonly checkProject: (
    config: Config,
    project: ProjectConfig,
    options: Pick<SyncOptions, 'signal' | 'log'>,
  ) => Promise<readonly CheckItem[]>
  readonly verifyProject: (config: Config, project: ProjectConfig, options: VerifyOptions) => Promise<VerifyReport>
  readonly statusOf: (config: Config, project: ProjectConfig) => Promise<StatusReport>
  readonly migrateWarehouse: (config: Config) => Promise<Migrated>
}
