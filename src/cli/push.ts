/** `deskmirror push`: sends the queued write-backs, in this process, until none can be sent. */
import { Command } from 'commander'
import type { ProjectConfig } from '../config.ts'
import { writesLast } from '../core/budget/outlook.ts'
import { type Status, type StatusCounts, statuses } from '../core/outbox/state.ts'
import type { BudgetView, PushProgress, PushReport } from '../core/report.ts'
import { type Typed, typedIn } from '../core/typed.ts'
import { type Answer, chosen, eachProject, give, joined } from './answer.ts'
import type { Display } from './display.ts'
import type { ExitCode } from './exit.ts'
import { jsonOption, projectOption, quietOption } from './options.ts'
import { budgetText } from './progress.ts'
import { count, duration, plural, printable } from './readable.ts'
import type { Shell } from './shell.ts'

type Options = {
  readonly project?: string
  readonly despiteFailures?: true
  readonly quiet?: true
  readonly json?: true
}

const examples = `
Looks at each target before it writes, and waits for replies that got no answer, to look whether they
arrived. Beside a worker it takes part in the same work.
Ctrl-C begins nothing new and sees those under way to their end; the next push, or the worker, goes on from there. Twice
ends at once: what became of those under way is found out by the next push.

Examples:
  $ deskmirror push
  $ deskmirror push --quiet --json
  $ deskmirror push --despite-failures      goes on although the last replies and notes went wrong

Exit code: 0 all that could be sent was sent and arrived · 1 interrupted, or the service does not answer ·
2 a person must change something (the key, read-only) · 3 done, but some failed or are held: a person should look`

export function pushCommand(shell: Shell): Command {
  return new Command('push')
    .summary('send the queued write-backs, once')
    .description('Sends the queued write-backs, in this process, until none can be sent.')
    .addOption(projectOption())
    .option('--despite-failures', 'send replies and notes although the last ones all went wrong')
    .addOption(quietOption())
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((options: Options) => give(shell, options.json === true, () => push(shell, options)))
}

/** What Ctrl-C waits for. Cut off, the next push would have to find out what became of them. */
const inHand = 'those under way, which are seen to their end'

async function push(shell: Shell, options: Options): Promise<Answer> {
  const config = shell.loadConfig('service')
  const projects = chosen(config.projects, options.project)
  const display = shell.display(options.quiet === true)
  const log = shell.openLog(config, display)
  const signal = shell.interruptible(display, inHand)
  const { pushProject } = await shell.work()
  const despiteFailures = options.despiteFailures === true
  const answers = await eachProject(projects, signal, (project) => {
    const heard = following(project, display, shell.now)
    return pushProject(config, project, { ...heard, tell: display.say, signal, log, despiteFailures }).finally(
      display.end,
    )
  })
  return joined(answers, (report) => showPush(report, typedIn(config.projects, report.project)))
}

/** Puts what is heard of a push together to the line of its progress. */
function following(project: ProjectConfig, display: Display, now: Shell['now']) {
  const since = now()
  let last: PushProgress = { settled: 0, left: 0, working: 0 }
  let budget: BudgetView | null = null
  const tell = () => display.onLine(progressLine(project, last, now() - since, budget))
  return {
    onProgress: (progress: PushProgress) => {
      last = progress
      tell()
    },
    onBudget: (view: BudgetView) => {
      budget = view
      tell()
    },
  }
}

/** `120 settled   880 left   114 a minute   about 7 min 43 s left   budget 240 of 570` */
export function progressLine(
  policy: Pick<ProjectConfig, 'rate' | 'writeRate' | 'reserve'>,
  { settled, left }: PushProgress,
  tookMs: number,
  budget: BudgetView | null,
): string {
  const pause = Math.max(budget?.pausedForMs ?? 0, budget?.closedForMs ?? 0)
  const parts = [
    `${count(settled)} settled`,
    `${count(left)} left`,
    tookMs < 3000 ? '' : `${count(Math.round((settled / tookMs) * 60_000))} a minute`,
    left === 0 ? '' : `about ${duration(Math.max(1000, writesLast(policy, left) + pause))} left`,
    budget === null ? '' : budgetText(budget),
  ]
  return parts.filter((part) => part !== '').join('   ')
}

/** Those that did not become what was wished for: a person should look at them. */
const unhappy = ['failed', 'conflict', 'uncertain', 'expired'] as const satisfies readonly Status[]

/** What is in the queue and can still go, by itself or after somebody's word. */
const unsettled = ['queued', 'sending', 'draft'] as const satisfies readonly Status[]

export function showPush(
  report: PushReport,
  typed: Typed,
): { readonly lines: readonly string[]; readonly exit: ExitCode } {
  const { settled, queue, outcome } = report
  const total = statuses.reduce((sum, status) => sum + (settled[status] ?? 0), 0)
  const became = countsOf(settled)
  const amiss = unhappy.filter((status) => (settled[status] ?? 0) > 0)
  const left = unsettled.filter((status) => (queue[status] ?? 0) > 0)
  const head = [
    report.project,
    `${count(total)} settled${became === '' ? '' : `: ${became}`}`,
    plural(report.requests, 'request'),
    duration(report.tookMs),
    outcome,
  ]
  return {
    lines: [
      head.join('   '),
      ...(amiss.length === 0 ? [] : [`why not: ${typed(`writeback list --status ${amiss.join(',')}`)}`]),
      ...(left.length === 0
        ? []
        : [`left: ${left.map((status) => `${count(queue[status] ?? 0)} ${status}`).join(', ')}`]),
      ...(queue.draft === undefined
        ? []
        : [`drafts wait for approval: ${typed('writeback approve --all')}, or --batch NAME`]),
      ...report.notices.map((notice) => `note: ${printable(notice)}`),
      ...heldLines(report.heldLanes, typed),
    ],
    exit: exitOf(report, amiss.length > 0),
  }
}

function exitOf({ outcome, heldLanes }: PushReport, amiss: boolean): ExitCode {
  if (outcome === 'interrupted') return 1
  return outcome === 'held' || amiss || heldLanes > 0 ? 3 : 0
}

/** `1,204 succeeded, 3 failed` */
export function countsOf(counts: StatusCounts): string {
  const present = statuses.filter((status) => (counts[status] ?? 0) > 0)
  return present.map((status) => `${count(counts[status] ?? 0)} ${status}`).join(', ')
}

/** Nothing where every row says whose it is. `taken`: the next command that writes makes them those of the only project. */
export function namelessLines(rows: number, taken = false): string[] {
  if (rows === 0) return []
  const [who, them] = rows === 1 ? ['1 row names', 'it'] : [`${count(rows)} rows name`, 'them']
  const then = taken
    ? `the next push takes ${them} for yours`
    : `nobody sends ${them} until project_id is set, in writebacks and in writeback_events`
  return [`${who} no project: ${then}`]
}

/** Nothing where no lane rests. */
export function heldLines(lanes: number, typed: Typed): string[] {
  if (lanes === 0) return []
  const rest = lanes === 1 ? '1 lane rests' : `${count(lanes)} lanes rest`
  return [`${rest} behind an uncertain write-back: ${typed('writeback list --status uncertain')}`]
}
