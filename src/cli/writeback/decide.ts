/** `deskmirror writeback approve`, `cancel`, `retry` and so on: people's decisions. */
import { Option } from 'commander'
import { decisions } from '../../outbox/core/decisions.ts'
import { reviewOutcomes } from '../../outbox/core/review/terms.ts'
import { defineProjectCommand } from '../command.ts'
import { jsonOption, oneProjectOption, parseChoices, parsedBy, personOption } from '../options.ts'
import { operationOption, statusOption } from './list.ts'
import { type DecisionCommandName, type DecisionOptions, runDecision } from './run-decision.ts'

const outcomeOption = () =>
  new Option(
    '--outcome <a,b>',
    `of a batch: only what would do this, according to the mirror: ${reviewOutcomes.join(', ')}`,
  ).argParser(parseChoices(reviewOutcomes))

const wholeBatchOption = () =>
  new Option('--batch <name>', 'the name of the batch, or a unique beginning of it')

/** `options`: beside those of every decision. */
const commands: Readonly<
  Record<
    DecisionCommandName,
    {
      readonly summary: string
      readonly description: string
      readonly options: () => readonly Option[]
      readonly help?: string
      readonly examples: readonly string[]
      readonly exitCodes?: string
    }
  >
> = {
  approve: {
    summary: 'queue drafts for sending',
    description:
      'Queues drafts for sending. Imports of more rows than approve_over in the ' +
      'configuration start as drafts.',
    options: () => [
      new Option('--batch <name>', 'all drafts of this batch'),
      new Option('--all', 'all drafts'),
      operationOption(),
      outcomeOption(),
      new Option(
        '--digest <digest>',
        'approve only if the drafts are still those that `batches show` showed',
      ).argParser(
        parsedBy('Write at least 12 digits of the digest.', (text) =>
          /^[0-9a-f]{12,64}$/i.test(text) ? text : undefined,
        ),
      ),
    ],
    help:
      'Nothing leaves within approve_grace (30 s): until then, `deskmirror writeback undo` ' +
      'undoes the approval.',
    examples: [
      'batches show replies-0123456789ab',
      'approve --batch replies-0123456789ab --digest 5f1c0a9be37d2246',
      'approve --batch replies-0123456789ab --operation handled',
    ],
  },
  undo: {
    summary: 'undo an approval within its grace',
    description:
      'Puts what was approved back to draft, as long as its grace lasts. Without ids and ' +
      'options: all that you approved.',
    options: () => [
      new Option('--batch <name>', 'of this batch'),
      new Option('--all', 'also what others approved'),
    ],
    help:
      'After the grace, `deskmirror writeback stop --batch NAME` puts ' +
      'back to draft what has not left.',
    examples: ['undo', 'undo --batch replies-0123456789ab'],
  },
  stop: {
    summary: 'put what has not left of a batch back to draft',
    description:
      'Stops a batch, at once, also while a worker runs: what has not left goes back to draft.',
    options: () => [
      wholeBatchOption(),
      new Option('--all', 'all sending of the project, whatever is queued later'),
    ],
    help: `A write-back that is in flight cannot be recalled; its outcome is found as always. Nothing of a stopped batch is approved
or sent until \`deskmirror writeback resume\`.`,
    examples: ['stop --batch replies-0123456789ab', 'stop --all'],
  },
  resume: {
    summary: 'go on with a stopped batch, or after a restored backup',
    description:
      'Queues again what was queued when the batch was stopped. Drafts that wait for ' +
      'approval stay drafts.\nWith --restored: lets a project send again whose warehouse ' +
      'went back in time. What is queued becomes drafts.',
    options: () => [
      wholeBatchOption(),
      new Option(
        '--all',
        'go on with all sending of the project, which was stopped with `stop --all`',
      ),
      new Option(
        '--despite-failures',
        'close the circuit breaker: send replies and notes although the last ones failed',
      ),
      new Option(
        '--restored',
        'the warehouse is a restored backup: what is queued in it may have been sent since',
      ),
      new Option('--send', 'with --restored: send what is queued, instead of making it drafts'),
    ],
    examples: [
      'cancel 51c4e2a9f0b3        what is not to go on',
      'resume --batch replies-0123456789ab',
      'resume --restored',
    ],
  },
  cancel: {
    summary: 'cancel what has not been sent',
    description: 'Cancels what has not been sent, at once, also while a worker runs.',
    options: () => [
      new Option('--batch <name>', 'all of this batch'),
      new Option('--all', 'everything that is queued or waits for approval'),
      operationOption(),
      outcomeOption(),
    ],
    help: `A write-back that is sending may have been sent already. It is not sent again, and becomes cancelled if it did not
arrive, succeeded if it did, and uncertain if that cannot be verified.`,
    examples: [
      'cancel 0199a3f2-51c4',
      'cancel --batch replies-0123456789ab',
      'cancel --all                            the kill switch',
    ],
  },
  retry: {
    summary: 'send failed write-backs again',
    description:
      'Sends failed write-backs again. The current mirror counts as ' +
      'what you saw, so check it first.',
    options: () => [
      new Option('--batch <name>', 'the failed ones of this batch (others with --status)'),
      statusOption(),
    ],
    help: `Failed, conflict, cancelled and expired write-backs can be sent again. An uncertain one must be resolved first, as it
may have arrived; then a message that has appeared since its first send makes it a conflict once. With approve_own: off someone
else than its author sends it again. An expiry that has passed is dropped.`,
    examples: [
      'retry 0199a3f2-51c4',
      'retry --status failed',
      'retry --batch replies-0123456789ab --status failed,conflict',
    ],
  },
  resolve: {
    summary: 'state the outcome of an uncertain write-back',
    description:
      'Records the outcome of uncertain write-backs after you have ' +
      'checked it; their lanes then continue.',
    options: () => [
      new Option('--arrived', 'it arrived: it becomes succeeded'),
      new Option('--lost', 'it did not arrive: it becomes failed').conflicts('arrived'),
    ],
    help: `Check in the app whether the reply or the note is there; \`deskmirror writeback show ID\` has the messages that may be it. A lost one is not sent again automatically; to
send it again, use \`deskmirror writeback retry ID\`.`,
    examples: [
      'list --status uncertain',
      'resolve 0199a3f2-51c4 --arrived',
      'resolve 0199a3f2-51c4 --lost && deskmirror writeback retry 0199a3f2-51c4',
    ],
  },
  revert: {
    summary: 'queue the inverse of a batch as drafts',
    description:
      'Queues the inverse of a batch as a draft batch: flags, names ' +
      'and emails as they were before.',
    options: () => [wholeBatchOption().makeOptionMandatory()],
    help: `Replies and notes cannot be taken back. What someone has changed since stays as it is, and is listed. The new batch is
sent only after it is approved. Of a stopped batch, what arrives after it has gone on can be taken back then.`,
    examples: [
      'revert --batch corrections-0123456789ab',
      'batches show corrections-0123456789ab-revert',
    ],
    exitCodes: `0 all of it, as far as it can be taken back · 1 failed, trying again may help · 2 a person must correct the
command, for example the name · 3 done, but something is not taken back`,
  },
}

const idHelp =
  'A unique beginning or end of an id is enough. If an id matches no write-back or ' +
  'several, nothing is changed.'

const exitCodes = {
  ofBatch:
    '0 done · 1 failed, trying again may help · 2 a person must ' +
    'correct the command, for example the name',
  ofRows: `0 done · 1 failed, trying again may help · 2 a person must correct the command, for example an id ·
3 done, but some of the selected write-backs did not change`,
}

export const decisionCommands = (Object.keys(commands) as DecisionCommandName[]).map((name) => {
  const { summary, description, options, help, examples, ...text } = commands[name]
  const isAboutBatch = name !== 'resolve' && decisions[name].about === 'batch'
  const shown = examples.map((example) => `  $ deskmirror writeback ${example}`).join('\n')
  const codes = text.exitCodes ?? (isAboutBatch ? exitCodes.ofBatch : exitCodes.ofRows)
  const paragraphs = [
    isAboutBatch ? [] : idHelp,
    help ?? [],
    `\nExamples:\n${shown}`,
    `\nExit code: ${codes}`,
  ]
  return defineProjectCommand<DecisionOptions, readonly string[] | undefined>({
    name,
    summary,
    description,
    argument: isAboutBatch
      ? undefined
      : ['[ids...]', 'their ids, or unique beginnings or ends of them'],
    options: [personOption(), oneProjectOption(), jsonOption(), ...options()],
    help: `\n${paragraphs.flat().join('\n').trimStart()}`,
    what: 'nothing was changed',
    run: (context, call, options, ids = []) => runDecision(context, call, name, ids, options),
  })
})
