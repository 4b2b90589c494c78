/** `deskmirror writeback batches`: the batches, newest first. */
import { Command } from 'commander'
import { projectCommandHint } from '../../core/command-hint.ts'
import type { CommandContext } from '../command-context.ts'
import { type CommandResult, runAndPrint, selectOneProject } from '../command-result.ts'
import { type CommonOptions, jsonOption, oneProjectOption, parseWholeNumber } from '../options.ts'
import { showBatchCommand } from './batches-show.ts'
import { renderBatches } from './render-batches.ts'

type Options = CommonOptions & { readonly limit: number; readonly before?: string }

const examples = `
A batch is what was queued together: by one import, by a revert, or by SQL with a batch_id of its own.

Examples:
  $ deskmirror writeback batches
  $ deskmirror writeback batches show replies-0123456789ab

Exit code: 0 listed · 1 failed, trying again may help · 2 a person must change something`

export function batchesCommand(context: CommandContext): Command {
  return new Command('batches')
    .summary('list batches, and show one')
    .description('Lists the batches, newest first: who queued each, how far it is, and when it is done.')
    .option('--limit <n>', 'how many to list', parseWholeNumber, 20)
    .option('--before <name>', 'only batches that are older than this one')
    .addOption(oneProjectOption())
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .enablePositionalOptions()
    .addCommand(showBatchCommand(context))
    .action((options: Options) => runAndPrint(context, options, () => runBatches(context, options)))
}

async function runBatches(context: CommandContext, options: Options): Promise<CommandResult> {
  const config = context.loadConfig('mirror')
  const project = selectOneProject(config.projects, options.project, 'nothing was listed')
  const { listBatches } = await context.load(() => import('../../app/batches.ts'))
  const { limit, before } = options
  const report = await listBatches(config, project, { limit, ...(before === undefined ? {} : { before }) })
  const hint = projectCommandHint(config.projects, project.name)
  return { document: report, lines: renderBatches(report, context.now(), hint), exit: 0 }
}
