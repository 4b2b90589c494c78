/** `deskmirror writeback batches show`: one batch. */
import { Command } from 'commander'
import type { CommandContext } from '../command-context.ts'
import { type CommandResult, runAndPrint, selectOneProject } from '../command-result.ts'
import { type CommonOptions, jsonOption, oneProjectOption } from '../options.ts'
import { formatCounts } from '../render/outbox.ts'

export function showBatchCommand(context: CommandContext): Command {
  return new Command('show')
    .summary('show one batch')
    .description('Shows what a batch would do, or what became of it.')
    .argument('<name>', 'the name of the batch, or a unique beginning of it')
    .addOption(oneProjectOption())
    .addOption(jsonOption())
    .action((name: string, options: CommonOptions) =>
      runAndPrint(context, options, () => runShow(context, name, options)),
    )
}

async function runShow(context: CommandContext, name: string, options: CommonOptions): Promise<CommandResult> {
  const config = context.loadConfig('mirror')
  const project = selectOneProject(config.projects, options.project, 'nothing was shown')
  const { showBatch } = await context.load(() => import('../../app/batches.ts'))
  const report = await showBatch(config, project, name)
  return { document: report, lines: [report.batch.id, formatCounts(report.batch.counts)], exit: 0 }
}
