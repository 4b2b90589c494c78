/** `deskmirror check`: is everything there that a sync needs? Changes nothing. */
import { Command } from 'commander'
import type { Config, ProjectConfig } from '../config.ts'
import type { CheckItem } from '../core/report.ts'
import { ConfigurationError } from '../settings/mistakes.ts'
import { catalog } from '../streams/catalog.ts'
import type { Answer } from './answer.ts'
import { chosen, eachProject, give } from './answer.ts'
import { type ExitCode, worst } from './exit.ts'
import { jsonOption, projectOption } from './options.ts'
import { printable } from './readable.ts'
import type { Shell } from './shell.ts'

type Options = { readonly project?: string; readonly json?: true }
type Checked = { readonly project: string | null; readonly items: readonly CheckItem[]; readonly exit: ExitCode }

const examples = `
Looks at the configuration, the connection, the key and its scopes, and the warehouse. Changes nothing.

Examples:
  $ deskmirror check
  $ deskmirror check --project shop --json

Exit code: 0 all is well · 1 trying again may help · 2 a person must change something ·
3 works, but streams will be left out: the key lacks their scope`

const firstSteps = `
How to get there:
  1. The account's owner makes a key in the app: Settings > API keys. Choose the project and the preset "Read only",
     or single scopes: conversations:read visitors:read calls:read analytics:read availability:read
     The key begins with svc_live_ and is shown once. It is a secret of the server: never put it into a web page.
  2. Write a file named .env into this folder:
       DESKMIRROR_BASE_URL=https://…        the address of the API, with its version
       DESKMIRROR_PROJECT_ID=…              the project's id, a UUID
       DESKMIRROR_API_KEY=svc_live_…        or DESKMIRROR_API_KEY_FILE=PATH
  3. Run deskmirror check again, then deskmirror sync.
Only looking? deskmirror demo needs none of this.`

export function checkCommand(shell: Shell): Command {
  return new Command('check')
    .summary('check the configuration, the connection, the key and its scopes')
    .description('Checks everything that a sync needs, and says how to get what is missing. Changes nothing.')
    .addOption(projectOption())
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((options: Options) => give(shell, options.json === true, () => check(shell, options)))
}

async function check(shell: Shell, options: Options): Promise<Answer> {
  const config = readOrMistakes(shell)
  if (config instanceof ConfigurationError) {
    const items = config.mistakes.map(({ where, why }) => ({
      name: where,
      state: 'error' as const,
      detail: why,
      hint: null,
    }))
    return show([{ project: null, items, exit: 2 }], firstSteps.split('\n'))
  }
  return show(await checkProjects(shell, config, chosen(config.projects, options.project)), [])
}

function readOrMistakes(shell: Shell): Config | ConfigurationError {
  try {
    return shell.loadConfig('service')
  } catch (error) {
    if (error instanceof ConfigurationError) return error
    throw error
  }
}

async function checkProjects(shell: Shell, config: Config, projects: readonly ProjectConfig[]): Promise<Checked[]> {
  const display = shell.display(true)
  const signal = shell.interruptible(display, 'the question in hand')
  const log = shell.openLog(config, display)
  const { checkProject } = await shell.work()
  const answers = await eachProject(projects, signal, async (project) => [
    ...(await checkProject(config, project, { signal, log })),
    ...(project.readOnly ? [readOnlyItem] : []),
  ])
  return answers.map((answer): Checked => {
    if ('report' in answer) {
      return { project: answer.project, items: answer.report, exit: worst(answer.report.map(exitOf)) }
    }
    const { what, why, next, exitCode } = answer.trouble
    return { project: answer.project, items: [{ name: what, state: 'error', detail: why, hint: next }], exit: exitCode }
  })
}

const readOnlyItem: CheckItem = {
  name: 'writing',
  state: 'ok',
  detail: 'switched off (DESKMIRROR_READ_ONLY): write-backs stay in the queue',
  hint: null,
}

/** A scope that the key lacks leaves streams out; any other warning is only worth knowing. */
function exitOf({ name, state, retryable }: CheckItem): ExitCode {
  if (state === 'error') return retryable === true ? 1 : 2
  return state === 'warning' && catalog.some(({ scope }) => scope === name) ? 3 : 0
}

const marks = { ok: '✓', warning: '!', error: '✗' } as const

function show(checked: readonly Checked[], after: readonly string[]): Answer {
  const width = Math.max(...checked.flatMap(({ items }) => items.map((item) => item.name.length)))
  const lines = checked.flatMap(({ project, items }) => [
    ...(checked.length > 1 && project !== null ? [project] : []),
    ...items.flatMap((item) => itemLines(item, width)),
  ])
  const document = { projects: checked.map(({ project, items }) => ({ project, items })) }
  return { document, lines: [...lines, ...after], exit: worst(checked.map(({ exit }) => exit)) }
}

function itemLines({ name, state, detail, hint }: CheckItem, width: number): string[] {
  const line = `${marks[state]} ${printable(name).padEnd(width)}   ${printable(detail)}`
  return hint === null || hint === '' ? [line] : [line, `  ${' '.repeat(width)}   → ${printable(hint)}`]
}
