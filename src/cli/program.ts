/** The command line as a value: all commands, the help, and the program that parses them. */
import { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

/** Of each its summary, and what loads it; in the order of the help. */
const commands = {
  init: [
    'connect a project: asks, tests and writes .env or deskmirror.yaml',
    () => import('./init.ts'),
  ],
  check: [
    'check the configuration, the connection, the key and its scopes',
    () => import('./check.ts'),
  ],
  sync: ['bring the mirror up to date, once', () => import('./sync.ts')],
  writeback: [
    'queue replies, handled flags, notes and corrections, and see their outcomes',
    () => import('./writeback.ts'),
  ],
  push: ['send the queued write-backs, once', () => import('./push.ts')],
  start: ['keep the mirror up to date by schedule, until stopped', () => import('./start.ts')],
  console: ['look at a warehouse in a browser', () => import('./console.ts')],
  mcp: ['let an assistant ask, and propose what people approve', () => import('./mcp.ts')],
  status: ['show freshness, rows, gaps, open work and the budget', () => import('./status.ts')],
  report: [
    'show the week on one page: volume, waits, backlog, AI, calls, and what changed',
    () => import('./report.ts'),
  ],
  verify: ['compare the mirror with the service, row by row', () => import('./verify.ts')],
  audit: [
    'read a random sample of the mirror again, and say what follows',
    () => import('./audit.ts'),
  ],
  export: [
    'export tables and views as CSV, JSON Lines, Parquet, SQLite or a workbook',
    () => import('./export.ts'),
  ],
  token: ['mint a short-lived token for the widget in a browser', () => import('./token.ts')],
  migrate: ["bring the warehouse to this version's schema", () => import('./migrate.ts')],
  move: ['move the warehouse into another database', () => import('./move.ts')],
  erase: ['delete what is stored of a visitor or a project', () => import('./erase.ts')],
  sandbox: ['run a double of the service, for experiments and tests', () => import('./sandbox.ts')],
  demo: ['see it work: nothing to configure, ends by itself', () => import('./demo.ts')],
} satisfies Record<
  string,
  readonly [
    summary: string,
    load: () => Promise<{ readonly command: (context: CommandContext) => Command }>,
  ]
>

export type CommandName = keyof typeof commands

const examples = `
Start here:
  $ deskmirror demo       nothing to configure: a mock server, a mirror of it, and what is in the mirror
  $ deskmirror init       connects a real project: asks, tests, and writes .env
  $ deskmirror check      what a real project needs, and how to get it
  $ deskmirror sync       mirror the project into SQLite, or into Postgres
  $ deskmirror start      keep it up to date by schedule, until stopped
  $ deskmirror console    the mirror in a browser
  $ deskmirror report     the last week on one page

Write back:
  $ deskmirror writeback import replies.csv     queue replies, handled flags, notes and corrections
  $ deskmirror push                             send what is queued

Configuration: variables (a file .env is read), or deskmirror.yaml for several projects; see docs/reference/settings.md.
Exit code: 0 done · 1 failed, trying again may help · 2 a person must change something · 3 done, with stated gaps`

export const commandNames = Object.keys(commands) as readonly CommandName[]

/** Of other commands only the summary is there: loading all takes longer than most of them. */
export async function createProgram(
  context: CommandContext,
  names: readonly CommandName[],
  version = '',
): Promise<Command> {
  const program = new Command('deskmirror')
    .description(
      'Mirrors the conversations, visitors and calls of a messaging ' +
        'project into SQLite or Postgres.',
    )
    .version(version)
    .addHelpText('after', examples)
    // Options belong to the command in front of them, as a subcommand may have one of the same
    // name.
    .enablePositionalOptions()
    .configureHelp({ subcommandTerm: (command) => command.name() })
  for (const name of commandNames) {
    const [summary, load] = commands[name]
    const command = names.includes(name) ? (await load()).command(context) : new Command(name)
    program.addCommand(command.summary(summary))
  }
  return program
}
