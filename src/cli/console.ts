/** `deskmirror console`: looks at a warehouse in a browser; changes nothing. */
import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { Option } from 'commander'
import { defaultConfig } from '../config/config.ts'
import { canOpenBrowser } from '../config/load.ts'
import { UserError } from '../values/user-error.ts'
import { type CommandResult, defineCommand } from './command.ts'
import type { CommandContext } from './command-context.ts'
import { loadConfigured, namedWarehouse, warehouseArgument } from './options.ts'

type Options = {
  readonly port: number
  readonly link?: true
  readonly json?: true
  readonly open: boolean
}

const help = `
Shows a warehouse in a browser, on this machine only, until Ctrl-C. Nothing can be changed. While deskmirror start runs, it
serves the console itself, at /console: --link prints a link to sign in there once, and says if no worker answers.

Examples:
  $ deskmirror demo --keep demo.db && deskmirror console demo.db
  $ deskmirror console                     the configured warehouse
  $ deskmirror console postgres://me@db/mirror --port 8500 --no-open
  $ deskmirror console --link              signs in at the console of the running worker

Exit code: 0 ended by Ctrl-C · 1 failed, trying again may help · 2 a person must change something`

export const command = defineCommand<Options, string | undefined>({
  name: 'console',
  description: 'Serves the web console over a warehouse, read-only.',
  argument: warehouseArgument,
  options: [
    new Option('--port <number>', 'the port to listen at; 0 = any free one')
      .default(0)
      .argParser(parsePort),
    new Option('--no-open', 'do not open a browser'),
    new Option('--link', 'print a one-time link to the console of the running worker'),
    new Option('--json', 'with --link: print one JSON document'),
  ],
  help,
  run: (context, options, warehouse) =>
    options.link === true || options.json === true
      ? printLink(context, options)
      : serve(context, warehouse, options),
})

function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new UserError({
    what: 'the port is not valid',
    why: `${text} is not a number between 0 and 65535`,
    next: 'write --port 8500',
  })
}

async function printLink(
  context: CommandContext,
  { link: isAsked }: Options,
): Promise<CommandResult> {
  const why = '--json is for a link only'
  if (isAsked !== true) throw new UserError({ what: 'cannot print JSON', why, next: 'add --link' })
  const config = context.loadConfig('database')
  if (config.http === null)
    throw new UserError({
      what: 'there is no console',
      why: 'HTTP is off',
      next: 'set DESKMIRROR_HTTP',
    })
  const { createWorkerLink } = await context.load(() => import('../console/console.ts'))
  const { link, address, answers } = await createWorkerLink(config, config.http, context.now())
  if (!answers) {
    context.writeErr(
      `no worker answers at ${address} now: start it with \`deskmirror start\`; if it runs ` +
        `on another machine, open the link with its address\n`,
    )
  }
  return { document: { link, answers }, lines: [link], exit: 0 }
}

async function serve(
  context: CommandContext,
  named: string | undefined,
  { port, open }: Options,
): Promise<CommandResult> {
  const config = named === undefined ? loadConfigured(context, 'console') : null
  const { databaseUrl, databaseSetting } = config ?? namedWarehouse(named ?? '')
  const display = context.openDisplay(false)
  const logged = config ?? defaultConfig({ projects: [] })
  const log = await context.openLog({ ...logged, warnings: [] }, display)
  const { stopped, exit } = context.listenForSignals()
  const { serveStandAlone } = await context.load(async () =>
    (await import('../console/console.ts')).loadStandAlone(),
  )
  const slow = setTimeout(
    () =>
      context.writeErr(`${named ?? 'the warehouse'} has not answered for 5 s; Ctrl-C ends this\n`),
    slowMs,
  )
  // A thread in the middle of a question to SQLite cannot be stopped, and an ordinary exit would
  // wait for it.
  void stopped
    .then(() => delay(closeMs, undefined, { ref: false }))
    .then(() => process.kill(process.pid, 'SIGKILL'))
  const served = { databaseUrl, databaseSetting, config, port, log, now: context.now }
  await serveStandAlone(served, async (link) => {
    clearTimeout(slow)
    context.writeOut(
      `The console, read-only, until Ctrl-C. The link works once, for 15 minutes:\n${link}\n`,
    )
    if (open && context.openStdout().isTerminal && canOpenBrowser()) openBrowser(link)
    await stopped
  }).finally(() => clearTimeout(slow))
  return exit(0)
}

/** After Ctrl-C; pages are closed sooner. */
const closeMs = 5000
const slowMs = 5000

/** Whether it works or not: the link is printed, too. */
function openBrowser(link: string): void {
  const program =
    process.platform === 'darwin' ? 'open' : process.platform === 'win32' ? 'explorer' : 'xdg-open'
  const child = spawn(program, [link], { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
}
