/** `deskmirror demo`: a sandbox, a mirror of it, write-backs and queries, unconfigured. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Option } from 'commander'
import { streamNames } from '../../schema/stream-specs.ts'
import { defaultConfig, defaultProject } from '../config/config.ts'
import { filesOfDatabase, keptFiles, rejectKept } from '../export/kept-files.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { secret } from '../values/secret.ts'
import { commandHintFor, UserError } from '../values/user-error.ts'
import { type CommandResult, defineCommand } from './command.ts'
import type { CommandContext } from './command-context.ts'
import {
  applyDemoChanges,
  demoQueries,
  dropOneAnswer,
  enqueueStatements,
  outcomeQuery,
  rowCountQuery,
  startDemoService,
} from './demo/service.ts'
import { worstExitCode } from './explain-error.ts'
import { type CommonOptions, jsonOption, quietOption } from './options.ts'
import { renderPush } from './push.ts'
import { createSyncLine } from './render/display.ts'
import { renderTable } from './render/table.ts'
import { renderSync } from './sync.ts'

type Options = CommonOptions & { readonly keep?: string }
type Row = Readonly<Record<string, unknown>>

const help = `
Starts a mock server in this process, mirrors it into an SQLite file, changes some data in the service, mirrors it
again, sends some replies, and shows what is in the warehouse. Takes some seconds and removes its files.

Examples:
  $ deskmirror demo
  $ deskmirror demo --keep demo.db      keeps the warehouse, to open with sqlite3 or a BI tool`

export const command = defineCommand<Options>({
  name: 'demo',
  description: 'Shows deskmirror at work on a mock server: nothing to configure, ends by itself.',
  options: [
    new Option('--keep <path>', 'keep the SQLite file under this name'),
    quietOption(),
    jsonOption(),
  ],
  help,
  run: async (context, options) => {
    const folder = mkdtempSync(join(tmpdir(), 'deskmirror-demo-'))
    const path =
      options.keep === undefined ? join(folder, 'demo.db') : newDatabasePath(context, options.keep)
    const service = await startDemoService(context.now())
    try {
      return await runDemoSteps(context, options, service, path)
    } finally {
      await service.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  },
})

/** Prints each step as it is done; the result holds the document and the next steps. */
async function runDemoSteps(
  context: CommandContext,
  options: Options,
  service: Sandbox,
  path: string,
): Promise<CommandResult> {
  const print = (...lines: string[]) => {
    if (options.json !== true) context.writeOut(`${lines.join('\n')}\n`)
  }
  const { runSync, runPush } = await openSteps(context, options, service, path)
  print(`A mock server serves ${service.baseUrl} (project ${service.projectId}).`, '')

  print('The first sync reads everything:')
  const first = await runSync()
  print(...renderSync(first).lines, '')
  if (first.outcome === 'interrupted') return { document: { passes: [first] }, lines: [], exit: 1 }

  print('Meanwhile, in the service:', ...applyDemoChanges(service).map((line) => `  ${line}`), '')
  print('The second sync reads what changed:')
  const second = await runSync()
  print(...renderSync(second).lines, '')
  if (second.outcome === 'interrupted')
    return { document: { passes: [first, second] }, lines: [], exit: 1 }

  print('Some write-backs are queued by plain SQL:', ...enqueueStatements.map(indented), '')
  await runStatements(path, enqueueStatements)
  dropOneAnswer(service)
  print(
    'and sent. One connection breaks before the response arrives, so deskmirror looks for ' +
      'that reply instead of sending it again:',
  )
  const pushed = await runPush()
  const sent = renderPush(pushed, commandHintFor(null))
  print(...sent.lines)
  if (pushed.outcome === 'interrupted')
    return { document: { passes: [first, second], pushed }, lines: [], exit: 1 }

  const queries = [rowCountQuery, outcomeQuery, ...demoQueries]
  const found = await runStatements(
    path,
    queries.map(({ sql }) => sql),
  )
  const [counts, ...questions] = queries.map((query, n) => ({ ...query, rows: found[n] ?? [] }))
  if (counts !== undefined) print('', `${counts.title}:`, ...renderRows(counts.rows))
  for (const { title, sql, rows } of questions)
    print('', `${title}:`, indented(sql), ...renderRows(rows))
  return {
    document: { passes: [first, second], pushed, tables: counts?.rows ?? [], questions },
    lines: ['', ...nextSteps(options.keep)],
    exit: worstExitCode([renderSync(second).exit, sent.exit]),
  }
}

async function openSteps(
  context: CommandContext,
  options: Options,
  service: Sandbox,
  path: string,
) {
  const project = defaultProject({
    name: 'demo',
    projectId: service.projectId,
    baseUrl: new URL(service.baseUrl),
    widgetUrl: new URL(service.widgetUrl),
    apiKey: secret(service.key),
    // The default of two minutes is too long for a demo.
    verifyAfterMs: 2000,
  })
  const config = defaultConfig({
    projects: [project],
    databaseUrl: `sqlite:${path}`,
    http: null,
    logLevel: 'warn',
  })
  const display = context.openDisplay(options.quiet === true)
  const shared = {
    signal: context.openInterruptSignal(display),
    log: await context.openLog(config, display),
  }
  const syncOptions = { ...shared, mode: 'incremental', streams: streamNames, wait: false } as const
  const pushOptions = {
    ...shared,
    onProgress: () => {},
    onBudget: () => {},
    despiteFailures: false,
  }
  const { syncProject } = await import('../app/sync.ts')
  const { pushProject } = await import('../app/push.ts')
  return {
    runSync: () => {
      const handlers = createSyncLine(display, context.now)
      return syncProject(config, project, { ...syncOptions, ...handlers }).finally(display.clear)
    },
    runPush: () => pushProject(config, project, pushOptions).finally(display.clear),
  }
}

/** Returns the rows of each. */
async function runStatements(
  path: string,
  statements: readonly string[],
): Promise<(readonly Row[])[]> {
  const { openWarehouse } = await import('../app/open.ts')
  const warehouse = await openWarehouse(`sqlite:${path}`)
  try {
    const results: (readonly Row[])[] = []
    for (const statement of statements) results.push(await warehouse.query(statement))
    return results
  } finally {
    await warehouse.close()
  }
}

function indented(text: string): string {
  return text.replace(/^/gm, '    ')
}

function renderRows(rows: readonly Row[]): string[] {
  const names = Object.keys(rows[0] ?? {})
  if (names.length === 0) return ['  (no rows)']
  return renderTable(
    names,
    rows.map((row) => names.map((name) => (row[name] === null ? '–' : String(row[name])))),
  )
}

/** Nor may there be files beside it: SQLite would take them for a part of the new database. */
function newDatabasePath(context: CommandContext, keep: string): string {
  const path = resolve(keep)
  const files = filesOfDatabase(path)
  const kept = keptFiles(context.describeConfiguration())
  for (const file of files) rejectKept(file, kept)
  const found = files.find((file) => existsSync(file))
  if (found === undefined) return path
  const why = `${found} exists already, and the demo writes only into a new file`
  throw new UserError({
    what: 'the demo did not start',
    why,
    next: 'name a file that does not exist',
  })
}

function nextSteps(keep: string | undefined): string[] {
  return [
    keep === undefined
      ? 'The demo is over and has removed its files; `deskmirror demo --keep demo.db` keeps ' +
        'the warehouse, and\n`deskmirror console demo.db` then shows it in a browser.'
      : `The warehouse is in ${keep}: \`deskmirror console ${keep}\` shows it in a browser; ` +
        'or try a BI tool, with the questions of docs/analytics.md.',
    'For your own project: `deskmirror init` asks for three settings, tests them and ' +
      'writes them down; `deskmirror sync` mirrors it.',
    'In a checkout all commands begin with npx: `npx deskmirror init`.',
  ]
}
