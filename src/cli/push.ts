/** `deskmirror push`: sends the queued write-backs, in this process, until none can be sent. */

import { Option } from 'commander'
import { formatCounts } from '../outbox/core/state.ts'
import type { PushProgress, PushReport, WritebackStatus } from '../outbox/outbox.ts'
import type { BudgetView } from '../service/core/budget.ts'
import { formatCount, formatDuration, pluralize, toPrintable } from '../values/format.ts'
import { showInvisible } from '../values/invisible.ts'
import type { EpochMs, Ms } from '../values/time.ts'
import type { CommandHint } from '../values/user-error.ts'
import { defineCommand, type Rendered, runOverService } from './command.ts'
import { type CommonOptions, jsonOption, projectOption, quietOption } from './options.ts'
import { createProgressLine } from './render/display.ts'
import { exportStep, renderBlockedLanes, renderReasons, renderRestTime } from './render/outbox.ts'
import { formatBudget, formatTimeLeft, joinParts, pauseOf } from './render/progress.ts'
import { linesOf } from './render/table.ts'

type Options = CommonOptions & { readonly despiteFailures?: true }

const help = `
Checks each target before it writes, and waits to verify replies that got no response. It can run beside a worker
and shares the work with it.
Ctrl-C starts nothing new and finishes the sends in flight; the next push or the worker continues from there. Ctrl-C
twice ends at once; the next push then verifies the sends in flight.

Examples:
  $ deskmirror push
  $ deskmirror push --quiet --json
  $ deskmirror push --despite-failures      continue although the last replies and notes failed

Exit code: 0 everything that could be sent has arrived · 1 interrupted, or the service does not answer ·
2 a person must change something (the key, read-only) · 3 done, but some failed or are blocked, or the service shows
something else than it accepted: a person should check`

export const command = defineCommand<Options>({
  name: 'push',
  description: 'Sends the queued write-backs, in this process, until none can be sent.',
  options: [
    projectOption(),
    new Option('--despite-failures', 'send replies and notes although the last ones all failed'),
    quietOption(),
    jsonOption(),
  ],
  help,
  run: (context, options) =>
    runOverService(
      context,
      options,
      async ({ config, project }, handlers, display) => {
        const since = context.now()
        const line = createProgressLine<PushProgress>(display, nothingSent, (progress, budget) =>
          renderProgress(progress, { tookMs: context.now() - since, now: context.now() }, budget),
        )
        const { pushProject } = await context.load(() => import('../app/push.ts'))
        const { despiteFailures = false } = options
        return pushProject(config, project, { despiteFailures, ...handlers, ...line })
      },
      (report, { hint }) => renderPush(report, hint),
      'the sends in flight to finish',
    ),
})

const nothingSent: PushProgress = {
  settled: 0,
  counts: {},
  reasons: [],
  left: 0,
  working: 0,
  takesMs: 0,
  restsUntil: null,
  restsBecause: null,
}

/**
 * `310 succeeded, 10 failed the service answered 404 (8) 880 left 117 a minute about 8 min left
 * budget 240 of 588`
 */
export function renderProgress(
  { settled, counts, reasons, left, working, takesMs, restsUntil, restsBecause }: PushProgress,
  { tookMs, now }: { readonly tookMs: Ms; readonly now: EpochMs },
  budget: BudgetView | null,
): string {
  const [reason] = reasons
  return joinParts(
    settled === 0 ? '0 settled' : formatCounts(counts),
    reason === undefined ? '' : `${showInvisible(reason.reason)} (${formatCount(reason.count)})`,
    `${formatCount(left)} left`,
    tookMs < 3000 ? '' : `${formatCount(Math.round((settled / tookMs) * 60_000))} a minute`,
    // How long the answers that are left take, nobody knows.
    left > working ? formatTimeLeft(takesMs + pauseOf(budget)) : '',
    restsUntil === null ? '' : renderRestTime(restsUntil, restsBecause, now),
    budget === null ? '' : formatBudget(budget),
  )
}

/** Statuses that can still be sent, automatically or after approval. */
const remainingStatuses: readonly WritebackStatus[] = ['queued', 'sending', 'draft']

export function renderPush(report: PushReport, hint: CommandHint): Rendered {
  const { settled, queue, outcome } = report
  const total = Object.values(settled).reduce((sum, count) => sum + count, 0)
  const statusCounts = formatCounts(settled)
  const exported = exportStep(settled, hint)
  const remaining = remainingStatuses.filter((status) => (queue[status] ?? 0) > 0)
  const summary = [
    report.project,
    `${formatCount(total)} settled${statusCounts === '' ? '' : `: ${statusCounts}`}`,
    pluralize(report.requests, 'request'),
    formatDuration(report.tookMs),
    outcome,
  ]
  const lines = linesOf(
    summary.join('   '),
    renderReasons(report.reasons, hint),
    exported,
    remaining.length > 0 && `left: ${formatCounts(queue, remaining)}`,
    renderDrafts(report, hint),
    report.notices.map((notice) => `note: ${toPrintable(notice)}`),
    renderBlockedLanes(report.blockedLanes, hint),
  )
  const isInOrder = exported === false && report.blockedLanes === 0 && report.contradicted === 0
  const needsCheck = outcome === 'blocked' || !isInOrder
  return { lines, exit: outcome === 'interrupted' ? 1 : needsCheck ? 3 : 0 }
}

/** A stopped batch cannot be approved. */
function renderDrafts({ queue, stopped }: PushReport, hint: CommandHint): readonly string[] {
  const waiting = (queue.draft ?? 0) - stopped.reduce((sum, { drafts }) => sum + drafts, 0)
  return linesOf(
    stopped.map(
      ({ batch }) => `${batch} is stopped: ${hint(`writeback resume --batch ${batch}`)} goes on`,
    ),
    waiting > 0 && `drafts wait for approval: ${hint('writeback approve --all')}, or --batch NAME`,
  )
}
