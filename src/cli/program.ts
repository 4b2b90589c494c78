/** The command line as a value: all commands, the help, and the program that parses them. */
import { existsSync, readFileSync } from 'node:fs'
import { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

/** In the order of the help. */
const commands = {
  init: {
    summary: 'connect a project: asks, tests and writes .env or deskmirror.yaml',
    load: async () => (await import('./init.ts')).initCommand,
  },
  check: {
    summary: 'check the configuration, the connection, the key and its scopes',
    load: async () => (await import('./check.ts')).checkCommand,
  },
  sync: {
    summary: 'bring the mirror up to date, once',
    load: async () => (await import('./sync.ts')).syncCommand,
  },
  writeback: {
    summary: 'queue replies, handled flags, notes and corrections, and see their outcomes',
    load: async () => (await import('./writeback.ts')).writebackCommand,
  },
  push: {
    summary: 'send the queued write-backs, once',
    load: async () => (await import('./push.ts')).pushCommand,
  },
  start: {
    summary: 'keep the mirror up to date by schedule, until stopped',
    load: async () => (await import('./start.ts')).startCommand,
  },
  console: {
    summary: 'look at a warehouse in a browser',
    load: async () => (await import('./console.ts')).consoleCommand,
  },
  status: {
    summary: 'show freshness, rows, gaps, open work and the budget',
    load: async () => (await import('./status.ts')).statusCommand,
  },
  report: {
    summary: 'show the week on one page: volume, waits, backlog, AI, calls, and what changed',
    load: async () => (await import('./report.ts')).reportCommand,
  },
  verify: {
    summary: 'compare the mirror with the service, row by row',
    load: async () => (await import('./verify.ts')).verifyCommand,
  },
  audit: {
    summary: 'read a random sample of the mirror again, and say what follows',
    load: async () => (await import('./audit.ts')).auditCommand,
  },
  export: {
    summary: 'export tables and views as CSV, JSON Lines, Parquet or SQLite',
    load: async () => (await import('./export.ts')).exportCommand,
  },
  token: {
    summary: 'mint a short-lived token for the widget in a browser',
    load: async () => (await import('./token.ts')).tokenCommand,
  },
  migrate: {
    summary: "bring the warehouse to this version's schema",
    load: async () => (await import('./migrate.ts')).migrateCommand,
  },
  erase: {
    summary: 'delete what is stored of a visitor',
    load: async () => (await import('./erase.ts')).eraseCommand,
  },
  sandbox: {
    summary: 'run a double of the service, for experiments and tests',
    load: async () => (await import('./sandbox.ts')).sandboxCommand,
  },
  demo: {
    summary: 'see it work: nothing to configure, ends by itself',
    load: async () => (await import('./demo.ts')).demoCommand,
  },
}

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

/** Of the commands that are not named only the summary is there: loading all of them takes longer than most of them. */
export async function createProgram(context: CommandContext, names: readonly CommandName[]): Promise<Command> {
  const program = new Command('deskmirror')
    .description('Mirrors the conversations, visitors and calls of a messaging project into SQLite or Postgres.')
    .version(packageVersion())
    .addHelpText('after', examples)
    // Options belong to the command in front of them, as a subcommand may have one of the same name.
    .enablePositionalOptions()
    .configureHelp({ subcommandTerm: (command) => command.name() })
  for (const name of commandNames) {
    const command = names.includes(name) ? (await commands[name].load())(context) : new Command(name)
    program.addCommand(command.summary(commands[name].summary))
  }
  return program
}

/** The version of the package that this file belongs to, in a checkout or compiled. */
function packageVersion(): string {
  const here = ['../../package.json', '../../../package.json'].map((path) => new URL(path, import.meta.url))
  const found = here.find((url) => existsSync(url))
  return found === undefined ? 'unknown' : String(JSON.parse(readFileSync(found, 'utf8')).version)
}
