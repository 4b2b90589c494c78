/** `deskmirror demo`: a service double, a mirror of it, write-backs to it, and what can be asked. Needs no configuration. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Command } from 'commander'
import type { Config, ProjectConfig } from '../config.ts'
import type { PushReport, SyncReport } from '../core/report.ts'
import { streamNames } from '../core/row.ts'
import { defaultSchedules } from '../core/schedule.ts'
import { secret } from '../core/secret.ts'
import { typedFor } from '../core/typed.ts'
import { UserError } from '../core/user-error.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { type Answer, give } from './answer.ts'
import { type Question, questions, rowCounts } from './demo-questions.ts'
import { breakOneAnswer, fates, queueing } from './demo-writebacks.ts'
import { worst } from './exit.ts'
import { jsonOption, quietOption } from './options.ts'
import { showPush } from './push.ts'
import type { Shell } from './shell.ts'
import { showSync } from './sync.ts'
import { withHeader } from './table.ts'

type Options = { readonly keep?: string; readonly quiet?: true; readonly json?: true }
type Row = Readonly<Record<string, unknown>>
type Asked = Question & { readonly rows: readonly Row[] }

const examples = `
Starts a service double in this process, mirrors it into an SQLite file, lets something happen in the service, mirrors
again, sends some replies, and shows what is in the warehouse. Takes some seconds and leaves nothing behind.

Examples:
  $ deskmirror demo
  $ deskmirror demo --keep demo.db      keeps the warehouse, to be looked at with sqlite3 or a BI tool`

export function demoCommand(shell: Shell): Command {
  return new Command('demo')
    .summary('see it work: nothing to configure, ends by itself')
    .description('Shows deskmirror at work on a service double: nothing to configure, ends by itself.')
    .option('--keep <path>', 'keep the SQLite file under this name')
    .addOption(quietOption())
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((options: Options) => give(shell, options.json === true, () => demo(shell, options)))
}

async function demo(shell: Shell, options: Options): Promise<Answer> {
  const folder = mkdtempSync(join(tmpdir(), 'deskmirror-demo-'))
  const path = options.keep === undefined ? join(folder, 'demo.db') : freshPath(options.keep)
  const { startService } = await import('./demo-service.ts')
  const service = await startService(shell.now())
  try {
    return await told(shell, options, service, path)
  } finally {
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Says each step as it is done; the answer itself is the document, and where to go from here. */
async function told(shell: Shell, options: Options, service: Sandbox, path: string): Promise<Answer> {
  const tell = (...lines: string[]) => {
    if (options.json !== true) shell.out(`${lines.join('\n')}\n`)
  }
  const { sync, push } = means(shell, options, service, path)
  const { aMinuteOfWork } = await import('./demo-service.ts')

  tell(
    `A service double serves ${service.baseUrl} (project ${service.projectId}).`,
    '',
    'The first pass reads everything:',
  )
  const first = await sync()
  tell(...showSync(first).lines)
  if (first.outcome === 'interrupted') return { document: { passes: [first] }, lines: [], exit: 1 }

  tell(
    '',
    'Meanwhile, in the service:',
    ...aMinuteOfWork(service).map((line) => `  ${line}`),
    '',
    'The second pass asks for what moved:',
  )
  const second = await sync()
  tell(...showSync(second).lines)
  if (second.outcome === 'interrupted') return { document: { passes: [first, second] }, lines: [], exit: 1 }

  tell('', 'Some answers are queued, by plain SQL:', ...queueing.map(indented))
  await change(path, queueing)
  breakOneAnswer(service)
  tell(
    '',
    'and sent. One connection breaks just when its answer should come; so that reply is looked for, and not repeated:',
  )
  const pushed = await push()
  const sent = showPush(pushed, typedFor(null))
  tell(...sent.lines)
  if (pushed.outcome === 'interrupted') return { document: { passes: [first, second], pushed }, lines: [], exit: 1 }

  const [counts, ...asked] = await ask(path, [rowCounts, fates, ...questions])
  if (counts !== undefined) tell('', `${counts.title}:`, ...asTable(counts.rows))
  for (const it of asked) tell('', `${it.title}:`, indented(it.sql), ...asTable(it.rows))
  return {
    document: { passes: [first, second], pushed, tables: counts?.rows ?? [], questions: asked },
    lines: ['', ...nextSteps(options.keep)],
    exit: worst([showSync(second).exit, sent.exit]),
  }
}

type Means = { readonly sync: () => Promise<SyncReport>; readonly push: () => Promise<PushReport> }

function means(shell: Shell, options: Options, service: Sandbox, path: string): Means {
  const config = configFor(service, path)
  const display = shell.display(options.quiet === true)
  const signal = shell.interruptible(display)
  const log = shell.openLog(config, display)
  const { onProgress, onBudget } = display
  const [project] = config.projects
  if (project === undefined) throw new Error('the demo has one project')
  const more = { mode: 'incremental', streams: streamNames, wait: false, signal, onProgress, onBudget, log } as const
  return {
    sync: async () => (await shell.work()).syncProject(config, project, more).finally(display.end),
    push: async () => {
      const how = { signal, log, onBudget, onProgress: () => {}, despiteFailures: false }
      return (await shell.work()).pushProject(config, project, how).finally(display.end)
    },
  }
}

function configFor(service: Sandbox, path: string): Config {
  const project: ProjectConfig = {
    name: 'demo',
    projectId: service.projectId,
    baseUrl: new URL(service.baseUrl),
    widgetUrl: new URL(service.widgetUrl),
    apiKey: secret(service.key),
    webhookSecrets: [],
    rate: { requests: 600, windowMs: 60_000 },
    writeRate: { requests: 120, windowMs: 60_000 },
    reserve: 0,
    startDate: null,
    timeZone: 'UTC',
    // Two minutes are too long for whoever watches.
    lookBackMs: 600_000,
    verifyAfterMs: 2000,
    resendReplies: true,
    approveOver: null,
    streams: streamNames,
    schedules: defaultSchedules,
    schema: 'discover',
    readOnly: false,
  }
  return {
    projects: [project],
    databaseUrl: `sqlite:${path}`,
    queueUrl: 'embedded',
    http: null,
    httpToken: null,
    concurrency: 1,
    readOnly: false,
    logLevel: 'warn',
    logLevelChosen: true,
    warnings: [],
  }
}

async function ask(path: string, all: readonly Question[]): Promise<readonly Asked[]> {
  const { openWarehouse } = await import('../warehouse/open.ts')
  const warehouse = await openWarehouse(`sqlite:${path}`, { use: 'read' })
  try {
    const asked: Asked[] = []
    for (const question of all) asked.push({ ...question, rows: await warehouse.query(question.sql) })
    return asked
  } finally {
    await warehouse.close()
  }
}

async function change(path: string, statements: readonly string[]): Promise<void> {
  const { openWarehouse } = await import('../warehouse/open.ts')
  const warehouse = await openWarehouse(`sqlite:${path}`)
  try {
    for (const statement of statements) await warehouse.query(statement)
  } finally {
    await warehouse.close()
  }
}

function indented(text: string): string {
  return text.replace(/^/gm, '    ')
}

function asTable(rows: readonly Row[]): string[] {
  const names = Object.keys(rows[0] ?? {})
  if (names.length === 0) return ['  (no rows)']
  return withHeader(
    names,
    rows.map((row) => names.map((name) => (row[name] === null ? '–' : String(row[name])))),
  )
}

function freshPath(keep: string): string {
  const path = resolve(keep)
  if (!existsSync(path)) return path
  const why = `${path} exists already, and the demo writes only into a file of its own`
  throw new UserError({ what: 'the demo did not start', why, next: 'name a file that does not exist', exitCode: 2 })
}

function nextSteps(keep: string | undefined): string[] {
  return [
    keep === undefined
      ? 'The demo is over and has left nothing behind; `deskmirror demo --keep demo.db` keeps the warehouse.'
      : `The warehouse is in ${keep}: try sqlite3 ${keep}, or a BI tool.`,
    'For a project of your own: `deskmirror check` says what is needed, `deskmirror sync` mirrors it.',
  ]
}
