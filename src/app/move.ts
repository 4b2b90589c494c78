/** Runs `move`: copies a warehouse, or a project of it, and makes the copy the active one. */
import { createProjectFacts } from '../analytics/sql/project-facts.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { CopiedTable, TableProgress } from '../maintenance/maintenance.ts'
import { acceptMove, beginMove, copyProjects, endMove } from '../maintenance/move-projects.ts'
import type { ProjectId } from '../values/project.ts'
import type { Ms } from '../values/time.ts'
import { withOpened } from '../values/with-opened.ts'
import { wholeWarehouse } from '../warehouse/moves.ts'
import { withWarehouse } from './open.ts'
import { openMove, openTarget } from './open-move.ts'
import { openRequestBudgets } from './request-budgets.ts'
import { recordMove } from './send-record.ts'
import type { CommandOptions } from './service.ts'

export type MoveReport = {
  /** Without credentials. */
  readonly from: string
  readonly to: string
  /** `interrupted`: the source is active as before, and the same command continues. */
  readonly outcome: 'moved' | 'interrupted'
  readonly whole: boolean
  readonly projects: readonly ProjectId[]
  readonly rows: number
  /** What this run copied or compared. The digests, sums of SHA-256, are those of both warehouses. */
  readonly tables: readonly CopiedTable[]
  /** Without the index of words, which is built when the target is active. */
  readonly tookMs: Ms
}

export type AcceptedMove = Pick<MoveReport, 'to' | 'whole' | 'projects'>

export type MoveOptions = Pick<CommandOptions, 'signal' | 'log'> & {
  readonly to: string
  /** Null: the whole warehouse. */
  readonly project: ProjectConfig | null
  readonly onProgress: (progress: TableProgress) => void
}

/** Throws UserError if one of the warehouses is in use, or cannot take part. */
export async function moveWarehouse(config: Config, options: MoveOptions): Promise<MoveReport> {
  const { project, to } = options
  const startedAt = performance.now()
  const { plan, labels, tables } = await withOpened(async (use) => {
    const { move, signal, ...opened } = await openMove(use, config, {
      ...options,
      only: project?.projectId ?? null,
    })
    const plan = [...opened.plan.keys()].filter((id) => id !== wholeWarehouse)
    const ended = { plan, labels: move.labels }
    try {
      await beginMove(move, opened.plan)
      const tables = await copyProjects(move, opened.plan, { ...options, signal })
      const budgets = use(await openRequestBudgets(config.queueUrl, null, options.log))
      await recordMove([config.databaseUrl, to], budgets.numbers, move.target.db, plan)
      await endMove(move, opened.plan)
      return { ...ended, tables }
    } catch (error) {
      if (options.signal.aborted && error === options.signal.reason)
        return { ...ended, tables: null }
      throw error
    }
  })
  const tookMs = Math.round(performance.now() - startedAt)
  if (tables !== null) await indexWords(config, plan, options)
  return {
    from: labels.source,
    to: labels.target,
    outcome: tables === null ? 'interrupted' : 'moved',
    whole: project === null,
    projects: plan,
    rows: (tables ?? []).reduce((sum, { rows }) => sum + rows, 0),
    tables: tables ?? [],
    tookMs,
  }
}

/** Of which the source was lost between the two marks. Throws UserError if not all had arrived. */
export function acceptMoved({
  project,
  to,
  log,
}: Omit<MoveOptions, 'signal' | 'onProgress'>): Promise<AcceptedMove> {
  return withOpened(async (use) => {
    const { side, label } = await openTarget(use, { to, log })
    const accepted = await acceptMove(side, project?.projectId ?? null)
    const projects = accepted.filter((id) => id !== wholeWarehouse)
    await recordMove([to], null, side.db, projects)
    return { to: label, projects, whole: project === null }
  })
}

/** The index of words cannot be copied: a rebuild of the facts, or the next sync, fills it. */
async function indexWords(
  config: Config,
  moved: readonly ProjectId[],
  { to, signal, onProgress }: MoveOptions,
): Promise<void> {
  const projects = config.projects.filter(({ projectId }) => moved.includes(projectId))
  await withWarehouse({ databaseUrl: to, databaseSetting: '--to', projects }, async (warehouse) => {
    for (const project of projects) {
      const facts = createProjectFacts(warehouse.projectDb(project.projectId), project)
      await facts.refresh({
        signal,
        onProgress: (done, left) => onProgress({ table: 'search_words', done, left }),
      })
    }
  })
}
