/** `deskmirror writeback`: the queue of write-backs. */
import { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { addCommand } from './writeback/add.ts'
import { batchesCommand } from './writeback/batches.ts'
import { decisionCommands } from './writeback/decide.ts'
import { importCommand } from './writeback/import.ts'
import { listCommand, showCommand } from './writeback/list.ts'
import { sheetCommand } from './writeback/sheet.ts'

const examples = `
What is queued is sent by \`deskmirror push\`, or by a worker that runs: in order for each conversation and each visitor,
within the rate limit, and once. docs/write-backs.md describes the guarantees and their limits.

Examples:
  $ deskmirror writeback add handled --conversation 7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f
  $ deskmirror writeback import replies.csv --dry-run
  $ deskmirror writeback import replies.csv
  $ deskmirror writeback list --status failed,conflict,uncertain
  $ deskmirror writeback cancel --all`

const subcommands = [
  addCommand,
  sheetCommand,
  importCommand,
  listCommand,
  showCommand,
  batchesCommand,
  ...decisionCommands,
]

export function command(context: CommandContext): Command {
  const command = new Command('writeback')
    .description('The queue of write-backs: add to it, list it, and decide about its entries.')
    .addHelpText('after', examples)
    .enablePositionalOptions()
  for (const subcommand of subcommands) command.addCommand(subcommand(context))
  return command
}
