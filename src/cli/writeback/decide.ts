/** `deskmirror writeback approve`, `cancel`, `retry`, `resolve`: what people decide about what is queued. */
import { Command, Option } from 'commander'
import type { Filter } from '../../core/outbox/desk.ts'
import type { MoveReport } from '../../core/outbox/report.ts'
import type { Decision, Status } from '../../core/outbox/state.ts'
import { type Typed, typedIn } from '../../core/typed.ts'
import { UserError } from '../../core/user-error.ts'
import { type Answer, give, theOne } from '../answer.ts'
import type { ExitCode } from '../exit.ts'
import { jsonOption, oneProjectOption } from '../options.ts'
import { count } from '../readable.ts'
import type { Shell } from '../shell.ts'
import { statusOption } from './list.ts'

type Options = {
  readonly batch?: string
  readonly all?: true
  readonly status?: readonly Status[]
  readonly arrived?: true
  readonly lost?: true
  readonly project?: string
  readonly json?: true
}

const about = `
An id may be its beginning, if no other id begins so. Where one means nothing, or several, nothing is changed.
`
const exits = `
Exit code: 0 done · 1 failed, trying again may help · 2 a person must change something: an id, the call ·
3 done, but some that were meant stay as they are`

export function approveCommand(shell: Shell): Command {
  return command(shell, 'approve', 'approved')
    .summary('queue drafts for sending')
    .description(
      'Queues drafts for sending. Imports of more rows than approve_over in the configuration begin as drafts.',
    )
    .option('--batch <name>', 'all drafts of this import')
    .option('--all', 'all drafts')
    .addHelpText(
      'after',
      `${about}
Examples:
  $ deskmirror writeback list --status draft
  $ deskmirror writeback approve --batch replies-0123456789ab
${exits}`,
    )
}

export function cancelCommand(shell: Shell): Command {
  return command(shell, 'cancel', 'cancelled')
    .summary('stop what has not been sent')
    .description('Stops what has not been sent, at once, whoever works on it.')
    .option('--batch <name>', 'all of this import')
    .option('--all', 'everything that is queued, or waits for approval')
    .addHelpText(
      'after',
      `${about}One that is sending may have left already. It is not sent again: where it did not arrive it becomes cancelled, else
succeeded; where nobody can tell, uncertain.

Examples:
  $ deskmirror writeback cancel 0199a3f2-51c4
  $ deskmirror writeback cancel --batch replies-0123456789ab
  $ deskmirror writeback cancel --all                            the kill switch
${exits}`,
    )
}

export function retryCommand(shell: Shell): Command {
  return command(shell, 'retry', 'retried')
    .summary('queue again what failed')
    .description('Queues again what failed. What the mirror shows now counts as seen, so look at it before.')
    .option('--batch <name>', 'those of this import that failed (others with --status)')
    .addOption(statusOption())
    .addHelpText(
      'after',
      `${about}failed, conflict, cancelled and expired ones can be queued again. An uncertain one must be resolved first: it may have
arrived. An expiry that has passed counts no more.

Examples:
  $ deskmirror writeback retry 0199a3f2-51c4
  $ deskmirror writeback retry --status failed
  $ deskmirror writeback retry --batch replies-0123456789ab --status failed,conflict
${exits}`,
    )
}

export function resolveCommand(shell: Shell): Command {
  return command(shell, 'resolve', 'resolved')
    .summary('say what became of an uncertain one')
    .description('Says what became of uncertain ones, after somebody looked; their lanes go on then.')
    .addOption(new Option('--arrived', 'it is there: it becomes succeeded'))
    .addOption(new Option('--lost', 'it is not there: it becomes failed').conflicts('arrived'))
    .addHelpText(
      'after',
      `${about}Look in the app whether the reply or the note is there. A lost one is not sent again by itself: \`deskmirror writeback retry ID\` does that.

Examples:
  $ deskmirror writeback list --status uncertain
  $ deskmirror writeback resolve 0199a3f2-51c4 --arrived
  $ deskmirror writeback resolve 0199a3f2-51c4 --lost && deskmirror writeback retry 0199a3f2-51c4
${exits}`,
    )
}

function command(shell: Shell, name: string, decision: Decision | 'resolved'): Command {
  return new Command(name)
    .argument('[ids...]', 'their ids, or how those begin')
    .addOption(oneProjectOption())
    .addOption(jsonOption())
    .action((ids: readonly string[], options: Options) =>
      give(shell, options.json === true, () => decide(shell, decision, ids, options)),
    )
}

async function decide(
  shell: Shell,
  said: Decision | 'resolved',
  ids: readonly string[],
  options: Options,
): Promise<Answer> {
  const decision = said === 'resolved' ? fateOf(options) : said
  const meant = meantBy(decision, ids, options)
  const config = shell.loadConfig('mirror')
  const project = theOne(config.projects, options.project, 'nothing was changed')
  const { decideWritebacks } = await shell.queue()
  const report = await decideWritebacks(config, project, decision, { meant, by: shell.person() })
  return {
    document: report,
    lines: showMoved(report, decision, typedIn(config.projects, project.name)),
    exit: exitOf(report, decision, ids.length > 0),
  }
}

/** Both, or neither, say nothing. */
function fateOf({ arrived, lost }: Options): Decision {
  if (arrived === undefined && lost === undefined)
    throw unclear('say what became of it: --arrived or --lost', 'it is not said what became of them')
  return arrived === true ? 'arrived' : 'lost'
}

/** Exactly one way to say which: nobody should cancel, or send, more than they meant. */
function meantBy(decision: Decision, ids: readonly string[], { batch, all, status }: Options): Filter {
  const ways = [ids.length > 0, batch !== undefined || status !== undefined, all === true].filter(Boolean)
  if (ways.length > 1) throw unclear('ids, --batch and --all exclude each other')
  if (ids.length > 0) return { ids }
  if (all === true) return {}
  const statuses = decision === 'retried' ? (status ?? ['failed' as const]) : undefined
  if (ways.length === 1)
    return { ...(batch === undefined ? {} : { batch }), ...(statuses === undefined ? {} : { statuses }) }
  throw unclear(choices[decision])
}

const choices: Readonly<Record<Decision, string>> = {
  approved: 'name ids, or --batch, or --all',
  cancelled: 'name ids, or --batch, or --all',
  retried: 'name ids, or --batch, or --status failed',
  arrived: 'name ids',
  lost: 'name ids',
}

function unclear(next: string, why = 'it is not clear which are meant'): UserError {
  return new UserError({ what: 'nothing was changed', why, next, exitCode: 2 })
}

const became: Readonly<Record<Decision, string>> = {
  approved: 'queued',
  cancelled: 'cancelled',
  retried: 'queued again',
  arrived: 'succeeded',
  lost: 'failed',
}

export function showMoved({ moved, ids, stayed, following }: MoveReport, decision: Decision, typed: Typed): string[] {
  const stay = ({ id, status, count: rows, why }: MoveReport['stayed'][number]) => {
    const who = id ?? count(rows)
    const isOne = id !== null || rows === 1
    if (status === 'sending' && decision === 'cancelled')
      return `${who} ${isOne ? 'is on its way' : 'are on their way'}: ${why}`
    return `${who} ${isOne ? 'stays' : 'stay'} ${status}: ${why}`
  }
  return [
    `${count(moved)} ${became[decision]}`,
    ...stayed.map(stay),
    ...(following === true ? ['none of them is sent; their rows follow while the worker, or the next push, runs'] : []),
    ...(moved === 0 ? [] : nextLines(decision, ids, typed)),
  ]
}

function nextLines(decision: Decision, ids: readonly string[], typed: Typed): string[] {
  switch (decision) {
    case 'approved':
    case 'retried':
      return [`next: ${typed('push')}, unless a worker runs`]
    case 'lost':
      return ids.length > 3
        ? [`next: ${typed('writeback retry')} and their ids sends them again`]
        : [`next: ${typed(`writeback retry ${ids.join(' ')}`)} sends ${ids.length === 1 ? 'it' : 'them'} again`]
    default:
      return []
  }
}

/** Who names one wants that one; of a whole import some may well be elsewhere. What is on its way cannot be stopped. */
function exitOf({ stayed }: MoveReport, decision: Decision, byId: boolean): ExitCode {
  const amiss = byId ? stayed : stayed.filter(({ status }) => decision === 'cancelled' && status === 'sending')
  return amiss.length > 0 ? 3 : 0
}
