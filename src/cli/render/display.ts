/** Progress on standard error: redrawn in place on a terminal, an occasional line elsewhere, nothing when quiet. */
import type { SyncProgress } from '../../mirror/core/reports.ts'
import type { BudgetView } from '../../service/core/budget.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import type { Progress, StreamProgress } from './progress.ts'
import { afterProgress, emptyProgress, progressSummary, streamProgressRow } from './progress.ts'
import { alignColumns } from './table.ts'

export type Display = {
  readonly kind: 'terminal' | 'plain' | 'quiet'
  readonly onProgress: (progress: SyncProgress) => void
  readonly onBudget: (budget: BudgetView) => void
  /** Single-line progress; each line replaces the one before. */
  readonly onLine: (line: string) => void
  /** Writes permanent lines above the redrawn ones. */
  readonly writeAbove: (text: string) => void
  /** Prints a notice of one line. */
  readonly notify: (line: string) => void
  /** Removes the redrawn lines and resets the streams, for the next project. */
  readonly clear: () => void
}

type OutputStream = NodeJS.WriteStream & { readonly fd: 2 }
type Clock = () => EpochMs

const redrawMs: Ms = 100
const lineMs: Ms = 5000

export function openDisplay(out: OutputStream, quiet: boolean, clock: Clock): Display {
  const write = (text: string) => {
    out.write(text)
  }
  if (quiet) return quietDisplay(write)
  return out.isTTY ? terminalDisplay(out, clock) : plainDisplay(write, clock)
}

function quietDisplay(write: (text: string) => void): Display {
  const nothing = () => {}
  const silence = { onProgress: nothing, onBudget: nothing, onLine: nothing, clear: nothing }
  return { kind: 'quiet', ...silence, writeAbove: write, notify: notifyTo(write) }
}

/** At most one redraw in 100 ms; the last state of a burst is always drawn. */
function terminalDisplay(stream: OutputStream, clock: Clock): Display {
  let progress = emptyProgress
  let line: string | null = null
  let timer: NodeJS.Timeout | undefined
  // Most commands draw nothing, and it takes as long to load as they take to answer.
  let update: ReturnType<typeof import('log-update').createLogUpdate> | undefined
  const draw = async () => {
    const { createLogUpdate } = await import('log-update')
    if (timer === undefined) return
    timer = undefined
    update ??= createLogUpdate(stream, { showCursor: true })
    update(line === null ? renderProgress(progress, clock()).join('\n') : `  ${line}`)
  }
  const changed = (next: Progress) => {
    progress = next
    timer ??= setTimeout(() => void draw(), redrawMs).unref()
  }
  const writeAbove = (text: string) => {
    update?.clear()
    stream.write(text)
  }
  const clear = () => {
    clearTimeout(timer)
    timer = undefined
    progress = emptyProgress
    line = null
    update?.clear()
  }
  const onProgress = (latest: SyncProgress) => changed(afterProgress(progress, latest, clock()))
  const onBudget = (budget: BudgetView) => changed({ ...progress, budget })
  const onLine = (next: string) => {
    line = next
    changed(progress)
  }
  return { kind: 'terminal', onProgress, onBudget, onLine, writeAbove, notify: notifyTo(writeAbove), clear }
}

function renderProgress(progress: Progress, now: EpochMs): string[] {
  const streams = [...progress.streams.values()].map((stream) => streamProgressRow(stream, now))
  return streams.length === 0 ? [] : [...alignColumns(streams, '  '), `  ${progressSummary(progress, now)}`]
}

/** Prints a stream's line when it ends, and every few seconds while it runs. */
function plainDisplay(write: (text: string) => void, clock: Clock): Display {
  let progress = emptyProgress
  let lastAt = clock()
  const show = (stream: StreamProgress) => {
    lastAt = clock()
    const cells = streamProgressRow(stream, lastAt).filter((cell) => cell !== '')
    const overall = stream.state === 'running' ? [progressSummary(progress, lastAt)] : []
    write(`${[...cells, ...overall].join('   ').trimEnd()}\n`)
  }
  const onProgress = (latest: SyncProgress) => {
    const before = progress.streams.get(latest.stream)?.state
    progress = afterProgress(progress, latest, clock())
    const stream = progress.streams.get(latest.stream)
    const ended = latest.state !== 'running' && before !== latest.state
    if (stream !== undefined && (ended || clock() - lastAt >= lineMs)) show(stream)
  }
  const onBudget = (budget: BudgetView) => {
    progress = { ...progress, budget }
  }
  const onLine = (line: string) => {
    if (clock() - lastAt < lineMs) return
    lastAt = clock()
    write(`${line}\n`)
  }
  const clear = () => {
    progress = emptyProgress
  }
  return { kind: 'plain', onProgress, onBudget, onLine, writeAbove: write, notify: notifyTo(write), clear }
}

/** Shows a progress and the budget as one line, whichever of them changes. */
export function createProgressLine<Value>(
  display: Display,
  first: Value,
  render: (progress: Value, budget: BudgetView | null) => string,
) {
  let [progress, budget]: [Value, BudgetView | null] = [first, null]
  return {
    onProgress: (latest: Value) => {
      progress = latest
      display.onLine(render(progress, budget))
    },
    onBudget: (view: BudgetView) => {
      budget = view
      display.onLine(render(progress, budget))
    },
  }
}

function notifyTo(write: (text: string) => void): (line: string) => void {
  return (line) => write(`deskmirror: ${line}\n`)
}
