/** `deskmirror writeback stop`, `resume`, `revert`: decisions about a whole batch. */
import { Command } from 'commander'
import type { Config, ProjectConfig } from '../../config/config.ts'
import { type CommandHint, projectCommandHint } from '../../core/command-hint.ts'
import { pluralize } from '../../core/format.ts'
import { UserError } from '../../core/user-error.ts'
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

type ResumeOptions = Omit<Options, 'batch'> & {
  readonly batch?: string
  readonly restored?: true
  readonly send?: true
}

export function resumeCommand(context: CommandContext): Command {
  return projectOptions(new Command('resume'))
    .summary('go on with a stopped batch, or after a restored backup')
    .description(
      'Queues again what was queued when the batch was stopped. Drafts that wait for approval stay drafts.\nWith --restored: lets a project send again whose warehouse went back in time. What is queued becomes drafts.',
    )
    .option('--batch <name>', 'the name of the batch, or a unique beginning of it')
    .option('--restored', 'the warehouse is a restored backup: what is queued in it may have been sent since')
    .option('--send', 'with --restored: send what is queued, instead of making it drafts')
    .action((options: ResumeOptions) => runAndPrint(context, options, () => runResume(context, options)))
    .addHelpText(
      'after',
      `
Examples:
  $ deskmirror writeback cancel 51c4e2a9f0b3        what is not to go on
  $ deskmirror writeback resume --batch replies-0123456789ab
  $ deskmirror writeback resume --restored
${exitCodeHelp}`,
    )
}

async function runResume(context: CommandContext, options: ResumeOptions): Promise<CommandResult> {
  const { batch, restored, send } = options
  if ((batch === undefined) !== (restored === true) || (send === true && restored !== true))
    throw new UserError({
      what: 'nothing was changed',
      why: 'it needs either --batch, or --restored, and --send only goes with --restored',
      next: 'see `deskmirror writeback resume --help`',
      exitCode: 2,
    })
  if (batch !== undefined)
    return prepareCall(context, { ...options, batch }, (...call) => decideBatch(context, 'resumed', ...call))
  const { config, project, hint } = chooseProject(context, options)
  const { resumeRestored } = await context.load(() => import('../../app/batches.ts'))
  const by = decidingPerson(context, config, options)
  const report = await resumeRestored(config, project, { by, queued: send === true ? 'send' : 'draft' })
  const lines = [
    `${project.name} sends again: ${pluralize(report.drafts, 'queued write-back')} became ${report.drafts === 1 ? 'a draft' : 'drafts'}`,
    ...(report.drafts === 0
      ? []
      : [`next: ${hint('writeback approve --all')} sends them, ${hint('writeback cancel --all')} gives them up`]),
  ]
  return { document: report, lines, exit: 0 }
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
  return projectOptions(new Command(name))
    .requiredOption('--batch <name>', 'the name of the batch, or a unique beginning of it')
    .action((options: Options) => runAndPrint(context, options, () => prepareCall(context, options, run)))
}

function projectOptions(command: Command): Command {
  return command.addOption(personOption()).addOption(oneProjectOption()).addOption(jsonOption())
}

async function prepareCall(
  context: CommandContext,
  options: Options,
  run: (...call: Call) => Promise<CommandResult>,
): Promise<CommandResult> {
  const { config, project, hint } = chooseProject(context, options)
  return run(config, project, options, hint)
}

function chooseProject(context: CommandContext, options: CommonOptions) {
  const config = context.loadConfig('mirror')
  const project = selectOneProject(config.projects, options.project, 'nothing was changed')
  return { config, project, hint: projectCommandHint(config.projects, project.name) }
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
