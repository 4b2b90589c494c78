/** `deskmirror writeback stop`, `resume`, `revert`: decisions about a whole batch. */
import { Command } from 'commander'
import type { Config, ProjectConfig } from '../../config/config.ts'
import { type CommandHint, projectCommandHint } from '../../core/command-hint.ts'
import type { CommandContext } from '../command-context.ts'
import { type CommandResult, runAndPrint, selectOneProject } from '../command-result.ts'
import { type CommonOptions, jsonOption, oneProjectOption } from '../options.ts'
import { decidingPerson, type PersonOption, personOption } from './person.ts'
import { renderBatchDecision } from './render-decision.ts'
import { renderRevert } from './render-revert.ts'

type Options = CommonOptions & PersonOption & { readonly batch: string }

const exitCodeHelp = `
Exit code: 0 done · 1 failed, trying again may help · 2 a person must correct the command, for example the name`

export function stopCommand(context: CommandContext): Command {
  return batchCommand(context, 'stop', (...call) => decideBatch(context, 'stopped', ...call))
    .summary('put what has not left of a batch back to draft')
    .description('Stops a batch, at once, also while a worker runs: what has not left goes back to draft.')
    .addHelpText(
      'after',
      `
A write-back that is in flight cannot be recalled; its outcome is found as always. Nothing of a stopped batch is approved
or sent until \`deskmirror writeback resume\`.

Examples:
  $ deskmirror writeback stop --batch replies-0123456789ab
${exitCodeHelp}`,
    )
}

export function resumeCommand(context: CommandContext): Command {
  return batchCommand(context, 'resume', (...call) => decideBatch(context, 'resumed', ...call))
    .summary('go on with a stopped batch')
    .description('Queues again what was queued when the batch was stopped. Drafts that wait for approval stay drafts.')
    .addHelpText(
      'after',
      `
Examples:
  $ deskmirror writeback cancel 51c4e2a9f0b3        what is not to go on
  $ deskmirror writeback resume --batch replies-0123456789ab
${exitCodeHelp}`,
    )
}

export function revertCommand(context: CommandContext): Command {
  return batchCommand(context, 'revert', (...call) => revert(context, ...call))
    .summary('queue the inverse of a batch as drafts')
    .description('Queues the inverse of a batch as a draft batch: flags, names and emails as they were before.')
    .addHelpText(
      'after',
      `
Replies and notes cannot be taken back. What someone has changed since stays as it is, and is listed. The new batch is
sent only after it is approved. Of a stopped batch, what arrives after it has gone on can be taken back then.

Examples:
  $ deskmirror writeback revert --batch corrections-0123456789ab
  $ deskmirror writeback batches show corrections-0123456789ab-revert

Exit code: 0 all of it, as far as it can be taken back · 1 failed, trying again may help · 2 a person must correct the
command, for example the name · 3 done, but something is not taken back`,
    )
}

type Call = readonly [config: Config, project: ProjectConfig, options: Options, hint: CommandHint]

function batchCommand(context: CommandContext, name: string, run: (...call: Call) => Promise<CommandResult>): Command {
  const prepare = async (options: Options) => {
    const config = context.loadConfig('mirror')
    const project = selectOneProject(config.projects, options.project, 'nothing was changed')
    return run(config, project, options, projectCommandHint(config.projects, project.name))
  }
  return new Command(name)
    .requiredOption('--batch <name>', 'the name of the batch, or a unique beginning of it')
    .addOption(personOption())
    .addOption(oneProjectOption())
    .addOption(jsonOption())
    .action((options: Options) => runAndPrint(context, options, () => prepare(options)))
}

async function decideBatch(
  context: CommandContext,
  decision: 'stopped' | 'resumed',
  ...[config, project, options, hint]: Call
): Promise<CommandResult> {
  const app = await context.load(() => import('../../app/batches.ts'))
  const by = decidingPerson(context, config, options)
  const report = await app.decideBatch(config, project, decision, { batch: options.batch, by })
  return { document: report, lines: renderBatchDecision(report, hint), exit: 0 }
}

async function revert(context: CommandContext, ...[config, project, options, hint]: Call): Promise<CommandResult> {
  const { revertBatchOf } = await context.load(() => import('../../app/batches.ts'))
  const by = decidingPerson(context, config, options)
  const report = await revertBatchOf(config, project, { batch: options.batch, by })
  const { cannot = 0, stands_against = 0, not_known = 0 } = report.counts
  return { document: report, lines: renderRevert(report, hint), exit: cannot + stands_against + not_known > 0 ? 3 : 0 }
}
