/** Progress on standard error: redrawn in place on a terminal, now and then a line elsewhere, nothing when quiet. */
import { createLogUpdate } from 'log-update'
import type { BudgetView, SyncProgress } from '../../core/report.ts'
import type { EpochMs, Ms } from '../../core/time.ts'
import type { Progress, StreamProgress } from './progress.ts'
import { afterProgress, emptyProgress, streamProgressRow, progressSummary } from './progress.ts'
import { alignColumns } from './table.ts'

export type Display = {
  readonly kind: 'terminal' | 'plain' | 'quiet'
  readonly onProgress: (progress: SyncProgress) => void
  readonly onBudget: (budget: BudgetView) => void
  /** Progress that is a single line, each time anew; the newest one counts. */
  readonly onLine: (line: string) => void
  /** Writes lines that stay, above what is redrawn. */
  readonly writeAbove: (text: string) => void
  /** Tells the person something in one line. */
  readonly notify: (line: string) => void
  /** Takes down what is redrawn, and forgets the streams: the next project starts afresh. */
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
  const silence = { onProgress: nothing, onBudget: nothing, onLine: nothing, end: nothing }
  return { kind: 'quiet', ...silence, writeAbove: write, notify: notifyTo(write) }
}

/** At most one redraw in 100 ms; the last state of a burst is always drawn. */
function terminalDisplay(stream: OutputStream, clock: Clock): Display {
  const update = createLogUpdate(stream, { showCursor: true })
  let progress = emptyProgress
  let line: string | null = null
  let timer: NodeJS.Timeout | undefined
  const draw = () => {
    timer = undefined
    update(line === null ? renderProgress(progress, clock()).join('\n') : `  ${line}`)
  }
  const changed = (next: Progress) => {
    progress = next
    timer ??= setTimeout(draw, redrawMs).unref()
  }
  const writeAbove = (text: string) => {
    update.clear()
    stream.write(text)
  }
  const clear = () => {
    clearTimeout(timer)
    timer = undefined
    progress = emptyProgress
    line = null
    update.clear()
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
  const streams = [...progress.streams.values()].map((it) => streamProgressRow(it, now))
  return streams.length === 0 ? [] : [...alignColumns(streams, '  '), `  ${progressSummary(progress, now)}`]
}

/** A stream's line when it ends, and while it runs one every few seconds. */
function plainDisplay(write: (text: string) => void, clock: Clock): Display {
  let progress = emptyProgress
  let lastAt = clock()
  const show = (it: StreamProgress) => {
    lastAt = clock()
    const cells = streamProgressRow(it, lastAt).filter((cell) => cell !== '')
    const overall = it.state === 'running' ? [progressSummary(progress, lastAt)] : []
    write(`${[...cells, ...overall].join('   ').trimEnd()}\n`)
  }
  const onProgress = (latest: SyncProgress) => {
    const before = progress.streams.get(latest.stream)?.state
    progress = afterProgress(progress, latest, clock())
    const it = progress.streams.get(latest.stream)
    const ended = latest.state !== 'running' && before !== latest.state
    if (it !== undefined && (ended || clock() - lastAt >= lineMs)) show(it)
  }
  const onBudget = (budget: BudgetView) => {
    progress = { ...progress, budget }
  }
  const onLine = (line: string) => {
    if (clock() - lastAt < lineMs) return
    lastAt = clock()
    write(`${line}\n`)
  }
  const end = () => {
    progress = emptyProgress
  }
  return { kind: 'plain', onProgress, onBudget, onLine, writeAbove: write, notify: notifyTo(write), clear: end }
}

function notifyTo(write: (text: string) => void): (line: string) => void {
  return (line) => write(`deskmirror: ${line}\n`)
}
