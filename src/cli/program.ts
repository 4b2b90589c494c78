/** The command line as a value: all commands, the help, and the program that parses them. */
import { existsSync, readFileSync } from 'node:fs'
import { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

/** In the order of the help. */
const commands = {
  init: async () => (await import('./init.ts')).initCommand,
  check: async () => (await import('./check.ts')).checkCommand,
  sync: async () => (await import('./sync.ts')).syncCommand,
  writeback: async () => (await import('./writeback.ts')).writebackCommand,
  push: async () => (await import('./push.ts')).pushCommand,
  start: async () => (await import('./start.ts')).startCommand,
  console: async () => (await import('./console.ts')).consoleCommand,
  status: async () => (await import('./status.ts')).statusCommand,
  report: async () => (await import('./report.ts')).reportCommand,
  verify: async () => (await import('./verify.ts')).verifyCommand,
  audit: async () => (await import('./audit.ts')).auditCommand,
  export: async () => (await import('./export.ts')).exportCommand,
  token: async () => (await import('./token.ts')).tokenCommand,
  migrate: async () => (await import('./migrate.ts')).migrateCommand,
  erase: async () => (await import('./erase.ts')).eraseCommand,
  sandbox: async () => (await import('./sandbox.ts')).sandboxCommand,
  demo: async () => (await import('./demo.ts')).demoCommand,
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

/** With some of the commands, because loading all of them takes longer than most of them. */
export async function createProgram(context: CommandContext, names: readonly CommandName[]): Promise<Command> {
  const program = new Command('deskmirror')
    .description('Mirrors the conversations, visitors and calls of a messaging project into SQLite or Postgres.')
    .version(packageVersion())
    .addHelpText('after', examples)
    // Options belong to the command in front of them, as a subcommand may have one of the same name.
    .enablePositionalOptions()
  const loaded = await Promise.all(names.map((name) => commands[name]()))
  for (const command of loaded) program.addCommand(command(context))
  return program
}

/** The version of the package that this file belongs to, in a checkout or compiled. */
function packageVersion(): string {
  const here = ['../../package.json', '../../../package.json'].map((path) => new URL(path, import.meta.url))
  const found = here.find((url) => existsSync(url))
  return found === undefined ? 'unknown' : String(JSON.parse(readFileSync(found, 'utf8')).version)
}
