/**
 * `deskmirror migrate`: the schema of this version, facts derived anew, and a role that reads them.
 */
import { Option } from 'commander'
import type { GrantReport } from '../analytics/analytics.ts'
import type { FactsRebuildReport } from '../app/facts.ts'
import { formatCount, formatDuration, pluralize } from '../values/format.ts'
import type { Ms } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import type { MigrationSummary } from '../warehouse/migrate.ts'
import {
  type CommandResult,
  defineCommand,
  forEachProject,
  joinResults,
  type Rendered,
  selectCalls,
} from './command.ts'
import type { CommandContext } from './command-context.ts'
import { type CommonOptions, jsonOption, projectOption, quietOption } from './options.ts'
import { joinParts, timeLeft } from './render/progress.ts'

type Options = CommonOptions & { readonly rebuildAnalytics?: true; readonly grant?: string }

const help = `
Every command that writes does this itself. Needs only the database: no address, no key.
--rebuild-analytics needs the projects of the configuration, too. A rebuild that was stopped goes on with the next sync.
--grant needs Postgres and an existing role. Repeat it after an upgrade, for the objects that are new.

Examples:
  $ deskmirror migrate
  $ DESKMIRROR_DATABASE_URL=postgres://me@db/mirror deskmirror migrate --json
  $ deskmirror migrate --rebuild-analytics --project support
  $ deskmirror migrate --grant analyst`

export const command = defineCommand<Options>({
  name: 'migrate',
  description: "Creates the tables of the warehouse, or brings them to this version's schema.",
  options: [
    new Option(
      '--rebuild-analytics',
      'derive all facts for analysts anew; other processes can sync meanwhile',
    ),
    new Option(
      '--grant <role>',
      'let this role of Postgres read the objects for analysts, and nothing else',
    ).conflicts(['rebuildAnalytics', 'project']),
    projectOption(),
    quietOption(),
    jsonOption(),
  ],
  help,
  run: async (context, options) => {
    const { grant: role, rebuildAnalytics, project } = options
    if (role !== undefined) return runGrant(context, role)
    if (rebuildAnalytics === true) return runRebuild(context, options)
    if (project === undefined) return runMigrate(context)
    const why = '--project chooses whose facts are derived anew; the schema is one for all projects'
    const next = 'add --rebuild-analytics'
    throw new UserError({ what: 'cannot migrate one project', why, next })
  },
})

async function runMigrate(context: CommandContext): Promise<CommandResult> {
  const { migrateWarehouse } = await context.load(() => import('../app/migrate.ts'))
  const migrated = await migrateWarehouse(context.loadConfig('database'))
  return { document: migrated, lines: renderMigration(migrated), exit: 0 }
}

function renderMigration({ from, to, applied }: MigrationSummary): readonly string[] {
  if (applied.length === 0) return [`the warehouse is at ${to} already`]
  const change = from === to ? [] : [`the warehouse went from ${from ?? 'nothing'} to ${to}`]
  return [...applied.map((name) => `applied ${name}`), ...change]
}

async function runGrant(context: CommandContext, role: string): Promise<CommandResult> {
  const { grantToAnalyst } = await context.load(() => import('../app/migrate.ts'))
  const result = await grantToAnalyst(context.loadConfig('database'), role)
  return { document: result, lines: [...renderMigration(result), ...renderGrant(result)], exit: 0 }
}

function renderGrant({ role, granted, otherReadable }: GrantReport): readonly string[] {
  const done = `${role} can read the ${granted.length} objects for analysts`
  if (otherReadable.length === 0) return [`${done}, and nothing else of the warehouse`]
  const others = `${otherReadable.slice(0, 5).join(', ')}${otherReadable.length > 5 ? ', …' : ''}`
  const rights =
    `${role} had other rights before, and can also read ` +
    `${pluralize(otherReadable.length, 'object')}`
  return [done, `${rights}: ${others}`]
}

/** Opening the warehouse migrates it. */
async function runRebuild(context: CommandContext, options: Options): Promise<CommandResult> {
  const calls = selectCalls(context.loadConfig('mirror'), options.project)
  const display = context.openDisplay(options.quiet === true)
  const signal = context.openInterruptSignal(display, 'the conversations in hand')
  const { rebuildFacts } = await context.load(() => import('../app/facts.ts'))
  const results = await forEachProject(calls, signal, ({ config, project }) => {
    const startedAt = context.now()
    const onProgress = (done: number, left: number) =>
      display.onLine(renderProgress(done, left, context.now() - startedAt))
    return rebuildFacts(config, project, { signal, onProgress, notify: display.notify }).finally(
      display.clear,
    )
  })
  return joinResults(results, renderRebuild)
}

/** `12,000 conversations derived   40,500 left   about 14 s left` */
export function renderProgress(done: number, left: number, tookMs: Ms): string {
  const derived = `${pluralize(done, 'conversation')} derived`
  return joinParts(derived, `${formatCount(left)} left`, timeLeft(done, left, tookMs))
}

function renderRebuild({ project, conversations, tookMs, outcome }: FactsRebuildReport): Rendered {
  const what =
    `${project}: derived the facts of ${pluralize(conversations, 'conversation')} in ` +
    `${formatDuration(tookMs)}`
  if (outcome === 'complete') return { lines: [what], exit: 0 }
  return { lines: [`${what}; the next sync derives the rest`], exit: 1 }
}
