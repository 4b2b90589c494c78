/** Progress on standard error: redrawn in place on a terminal, now and then a line elsewhere, nothing when quiet. */
import { createLogUpdate } from 'log-update'
import type { BudgetView, SyncProgress } from '../core/report.ts'
import type { EpochMs, Ms } from '../core/time.ts'
import type { Progress, Standing } from './progress.ts'
import { afterProgress, noProgress, streamCells, summary } from './progress.ts'
import { aligned } from './table.ts'

export type Display = {
  readonly kind: 'terminal' | 'plain' | 'quiet'
  readonly onProgress: (progress: SyncProgress) => void
  readonly onBudget: (budget: BudgetView) => void
  /** Progress that is a single line, each time anew; the newest one counts. */
  readonly onLine: (line: string) => void
  /** Writes lines that stay, above what is redrawn. */
  readonly above: (text: string) => void
  /** Tells the person something in one line. */
  readonly say: (line: string) => void
  /** Takes down what is redrawn, and forgets the streams: the next project starts afresh. */
  readonly end: () => void
}

type Out = NodeJS.WriteStream & { readonly fd: 2 }
type Clock = () => EpochMs

const redrawMs: Ms = 100
const lineMs: Ms = 5000

export function openDisplay(out: Out, quiet: boolean, clock: Clock): Display {
  const write = (text: string) => {
    out.write(text)
  }
  if (quiet) return silent(write)
  return out.isTTY ? redrawn(out, clock) : plain(write, clock)
}

function silent(write: (text: string) => void): Display {
  const nothing = () => {}
  const silence = { onProgress: nothing, onBudget: nothing, onLine: nothing, end: nothing }
  return { kind: 'quiet', ...silence, above: write, say: sayTo(write) }
}

/** At most one redraw in 100 ms; the last state of a burst is always drawn. */
function redrawn(out: Out, clock: Clock): Display {
  const update = createLogUpdate(out, { showCursor: true })
  let progress = noProgress
  let line: string | null = null
  let timer: NodeJS.Timeout | undefined
  const draw = () => {
    timer = undefined
    update(line === null ? lines(progress, clock()).join('\n') : `  ${line}`)
  }
  const changed = (next: Progress) => {
    progress = next
    timer ??= setTimeout(draw, redrawMs).unref()
  }
  const above = (text: string) => {
    update.clear()
    out.write(text)
  }
  const end = () => {
    clearTimeout(timer)
    timer = undefined
    progress = noProgress
    line = null
    update.clear()
  }
  const onProgress = (news: SyncProgress) => changed(afterProgress(progress, news, clock()))
  const onBudget = (budget: BudgetView) => changed({ ...progress, budget })
  const onLine = (next: string) => {
    line = next
    changed(progress)
  }
  return { kind: 'terminal', onProgress, onBudget, onLine, above, say: sayTo(above), end }
}

function lines(progress: Progress, now: EpochMs): string[] {
  const streams = [...progress.streams.values()].map((it) => streamCells(it, now))
  return streams.length === 0 ? [] : [...aligned(streams, '  '), `  ${summary(progress, now)}`]
}

/** A stream's line when it ends, and while it runs one every few seconds. */
function plain(write: (text: string) => void, clock: Clock): Display {
  let progress = noProgress
  let lastAt = clock()
  const show = (it: Standing) => {
    lastAt = clock()
    const cells = streamCells(it, lastAt).filter((cell) => cell !== '')
    const overall = it.state === 'running' ? [summary(progress, lastAt)] : []
    write(`${[...cells, ...overall].join('   ').trimEnd()}\n`)
  }
  const onProgress = (news: SyncProgress) => {
    const before = progress.streams.get(news.stream)?.state
    progress = afterProgress(progress, news, clock())
    const it = progress.streams.get(news.stream)
    const ended = news.state !== 'running' && before !== news.state
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
    progress = noProgress
  }
  return { kind: 'plain', onProgress, onBudget, onLine, above: write, say: sayTo(write), end }
}

function sayTo(write: (text: string) => void): (line: string) => void {
  return (line) => write(`deskmirror: ${line}\n`)
}
