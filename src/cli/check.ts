/** `deskmirror check`: verifies that a sync can run. Changes nothing. */
import { Option } from 'commander'
import type { CheckItem } from '../app/check.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import { ConfigurationError, firstMissing } from '../config/problems.ts'
import { allStreams } from '../mirror/core/streams.ts'
import type { BudgetView } from '../service/core/budget.ts'
import { toPrintable } from '../values/format.ts'
import type { ProjectName } from '../values/project.ts'
import { type CommandResult, defineCommand, forEachProject, selectCalls } from './command.ts'
import type { CommandContext } from './command-context.ts'
import { type ExitCode, worstExitCode } from './explain-error.ts'
import { type CommonOptions, jsonOption, projectOption } from './options.ts'
import { formatBudget } from './render/progress.ts'

type ProjectChecks = {
  readonly project: ProjectName | null
  readonly items: readonly CheckItem[]
  readonly exit: ExitCode
}

const help = `
Checks the configuration, the connection, the key and its scopes, Redis if it is set, and the warehouse. Changes nothing.

Examples:
  $ deskmirror check
  $ deskmirror check --project shop --json
  $ deskmirror check --notify            also posts a test line to the address of notify

Exit code: 0 all is well · 1 trying again may help · 2 a person must change something ·
3 works, but the key lacks the scope of some streams, which are skipped`

const firstSteps = `
First steps:
  1. The account's owner creates a key in the app: Settings > API keys. Choose the project and the preset "Read only",
     or single scopes: ${[...new Set(allStreams.map(({ scope }) => scope))].join(' ')}
     The key begins with svc_live_ and is shown once. Keep it on the server: never put it into a web page.
  2. Run deskmirror init, which asks for the rest, tests it and writes a file named .env in this folder. Or write it yourself:
       DESKMIRROR_BASE_URL=https://…        the address of the API, with its version
       DESKMIRROR_PROJECT_ID=…              the project's id, a UUID
       DESKMIRROR_API_KEY=svc_live_…        or DESKMIRROR_API_KEY_FILE=PATH
  3. Run deskmirror check again, then deskmirror sync.
Just trying it out? deskmirror demo needs none of this.`

type Options = CommonOptions & { readonly notify?: true }

export const command = defineCommand<Options>({
  name: 'check',
  description:
    'Checks everything that a sync needs, and explains how to get what ' +
    'is missing. Changes nothing.',
  options: [
    projectOption(),
    new Option('--notify', 'also post a test line to the address of `notify`'),
    jsonOption(),
  ],
  help,
  run: async (context, options) => {
    const config = loadConfigOrError(context)
    if (!(config instanceof ConfigurationError))
      return renderChecks(await checkProjects(context, config, options), [])
    const items = config.problems.map(
      ({ where, why }): CheckItem => ({ name: where, state: 'error', detail: why, hint: null }),
    )
    const footer = firstMissing(config.problems).length > 0 ? firstSteps.split('\n') : []
    return renderChecks([{ project: null, items, exit: 2 }], footer)
  },
})

function loadConfigOrError(context: CommandContext): Config | ConfigurationError {
  try {
    return context.loadConfig('check')
  } catch (error) {
    if (error instanceof ConfigurationError) return error
    throw error
  }
}

async function checkProjects(
  context: CommandContext,
  config: Config,
  options: Options,
): Promise<ProjectChecks[]> {
  const calls = selectCalls(config, options.project)
  const display = context.openDisplay(true)
  const signal = context.openInterruptSignal(display, 'the current request')
  const log = await context.openLog(config, display)
  const { checkProject } = await context.load(() => import('../app/check.ts'))
  const onWait = (budget: BudgetView) => display.notify(formatBudget(budget))
  const results = await forEachProject(calls, signal, async ({ project }) => [
    ...(await checkProject(config, project, {
      signal,
      log,
      onWait,
      postsLine: options.notify === true,
    })),
    ...settingItems(project),
  ])
  return results.map((result): ProjectChecks => {
    const project = result.call.project.name
    if ('report' in result)
      return { project, items: result.report, exit: worstExitCode(result.report.map(toExitCode)) }
    const { what, why, next, exitCode } = result.error
    const item: CheckItem = { name: what, state: 'error', detail: why, hint: next }
    return { project, items: [item], exit: exitCode }
  })
}

/** What is set, and changes what a sync stores and sends. */
function settingItems({ readOnly, history }: ProjectConfig): readonly CheckItem[] {
  const off = 'switched off (DESKMIRROR_READ_ONLY): write-backs stay in the queue'
  const kept = `replaced versions of ${history.join(', ')} are kept`
  const details = { writing: readOnly ? off : null, history: history.length > 0 ? kept : null }
  return Object.entries(details).flatMap(([name, detail]) =>
    detail === null ? [] : [{ name, state: 'ok', detail, hint: null }],
  )
}

/** A missing scope skips streams; any other warning does not affect the result. */
export function toExitCode({ name, state, retryable }: CheckItem): ExitCode {
  if (state === 'error') return retryable === true ? 1 : 2
  return state === 'warning' && allStreams.some(({ scope }) => scope === name) ? 3 : 0
}

const marks = { ok: '✓', warning: '!', error: '✗' } as const

export function renderChecks(
  results: readonly ProjectChecks[],
  footer: readonly string[],
): CommandResult {
  const width = Math.max(...results.flatMap(({ items }) => items.map((item) => item.name.length)))
  const lines = results.flatMap(({ project, items }) => [
    ...(results.length > 1 && project !== null ? [project] : []),
    ...items.flatMap((item) => renderItem(item, width)),
  ])
  return {
    document: { projects: results.map(({ project, items }) => ({ project, items })) },
    lines: [...lines, ...footer],
    exit: worstExitCode(results.map(({ exit }) => exit)),
  }
}

function renderItem({ name, state, detail, hint }: CheckItem, width: number): string[] {
  const line = `${marks[state]} ${toPrintable(name).padEnd(width)}   ${toPrintable(detail)}`
  return hint === null || hint === ''
    ? [line]
    : [line, `  ${' '.repeat(width)}   → ${toPrintable(hint)}`]
}
